# fish completion for bloomdedup.

# The command on the line: the first operand if it has the name of one, else
# "filter"; nothing before there is an operand.
function __bloomdedup_command
    set -l skip
    for word in (commandline -opc)[2..-1]
        if test -n "$skip"
            set skip
            continue
        end
        switch $word
            case -f -o -n -p -m --filter --output --capacity --error-rate \
                    --memory --hashes --on-full --max-size --lock-timeout
                set skip yes
            case --
                echo filter
                return
            case '-*'
            case add check create info size try
                echo $word
                return
            case '*'
                echo filter
                return
        end
    end
end

# Is it one of these? No command is "filter".
function __bloomdedup_takes
    set -l command (__bloomdedup_command)
    test -n "$command"; or set command filter
    contains -- $command $argv
end

complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a add -d 'remember lines, print nothing'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a check -d 'print the lines that are in a filter'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a create -d 'make an empty filter'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a info -d 'what is in a filter, how full it is'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a size -d 'how much memory so many lines need'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a try -d 'the same in short'
complete -c bloomdedup -n '__bloomdedup_takes size try' -f

complete -c bloomdedup -n '__bloomdedup_takes filter add check' -s f -l filter -r -F -d 'remember lines in this file'
complete -c bloomdedup -n '__bloomdedup_takes filter check' -s o -l output -r -F -d 'print to this file'
complete -c bloomdedup -n '__bloomdedup_takes check' -s v -l invert -d 'print the lines that are not in it'
complete -c bloomdedup -n '__bloomdedup_takes filter add check' -s q -l quiet -d 'print no lines, the exit status tells'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create' -s z -l zero-terminated -d 'lines end in NUL'
complete -c bloomdedup -n '__bloomdedup_takes filter add create size' -s n -l capacity -x -d 'how many lines to plan for'
complete -c bloomdedup -n '__bloomdedup_takes filter add create size' -s p -l error-rate -x -d 'share of new lines that may be lost'
complete -c bloomdedup -n '__bloomdedup_takes create size' -s m -l memory -x -d 'how large the filter may be'
complete -c bloomdedup -n '__bloomdedup_takes create size try' -l hashes -x -d 'number of hash functions'
complete -c bloomdedup -n '__bloomdedup_takes filter add create size try' -l on-full -x -a 'grow warn fail' -d 'what to do beyond the capacity'
complete -c bloomdedup -n '__bloomdedup_takes filter add create' -l max-size -x -d 'how large the filter may become'
complete -c bloomdedup -n '__bloomdedup_takes filter add create' -l lock-timeout -x -d 'seconds to wait for another run'
complete -c bloomdedup -n '__bloomdedup_takes filter add check' -l no-gunzip -d 'read compressed files as they are'
complete -c bloomdedup -n '__bloomdedup_takes create' -l force -d 'overwrite the filter'
complete -c bloomdedup -n '__bloomdedup_takes info size try' -l json -d 'one line for programs'
complete -c bloomdedup -n '__bloomdedup_takes size' -l table -d 'sizes for many numbers of lines'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create info size try' -s h -l help -d help
complete -c bloomdedup -n '__bloomdedup_takes filter' -s V -l version -d 'the version'
