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
            case -f -o -n -p -m -k -t -s -w --duplicates --to-command --key \
                    --field-separator --skip-chars --check-chars --like --hash \
                    --secret-file --filter --output --capacity --error-rate \
                    --memory --hashes --on-full --max-size --lock-timeout
                set skip yes
            case --
                echo filter
                return
            case '-*'
            case add check create info merge size try
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
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a merge -d 'make one filter of several'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a size -d 'how much memory so many lines need'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a try -d 'the same in short'
complete -c bloomdedup -n '__bloomdedup_takes size try' -f

complete -c bloomdedup -n '__bloomdedup_takes filter add check' -s f -l filter -r -F -d 'remember lines in this file'
complete -c bloomdedup -n '__bloomdedup_takes filter check merge' -s o -l output -r -F -d 'write to this file'
complete -c bloomdedup -n '__bloomdedup_takes check' -s v -l invert -d 'print the lines that are not in it'
complete -c bloomdedup -n '__bloomdedup_takes filter add check' -s q -l quiet -d 'print no lines, the exit status tells'
complete -c bloomdedup -n '__bloomdedup_takes filter' -s d -l repeated -d 'print the lines that were seen before'
complete -c bloomdedup -n '__bloomdedup_takes filter' -l duplicates -r -F -d 'write the lines that were seen before here, too'
complete -c bloomdedup -n '__bloomdedup_takes filter' -l to-command -x -a '(__fish_complete_command)' -d 'feed the lines to this shell command'
complete -c bloomdedup -n '__bloomdedup_takes filter add' -l atomic -d 'all or nothing'
complete -c bloomdedup -n '__bloomdedup_takes filter add' -l sync -d 'what is remembered survives a power cut'
complete -c bloomdedup -n '__bloomdedup_takes filter add check' -l stats -d 'figures at the end'
complete -c bloomdedup -n '__bloomdedup_takes filter add check' -l progress -d 'a live line of figures'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create' -s z -l zero-terminated -d 'lines end in NUL'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create' -s k -l key -x -d 'compare these fields'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create' -s t -l field-separator -x -d 'what separates fields'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create' -l csv -d 'comma-separated values, quoted or not'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create' -l strip-cr -d 'compare without a CR at the end'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create' -l trim -d 'compare without blanks at both ends'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create' -s s -l skip-chars -x -d 'compare without the first bytes'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create' -s w -l check-chars -x -d 'compare no more bytes than these'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create' -s i -l ignore-case -d 'compare without regard to case'
complete -c bloomdedup -n '__bloomdedup_takes filter add create size' -s n -l capacity -x -d 'how many lines to plan for'
complete -c bloomdedup -n '__bloomdedup_takes filter add create size' -s p -l error-rate -x -d 'share of new lines that may be lost'
complete -c bloomdedup -n '__bloomdedup_takes create size' -s m -l memory -x -d 'how large the filter may be'
complete -c bloomdedup -n '__bloomdedup_takes create size try' -l hashes -x -d 'number of hash functions'
complete -c bloomdedup -n '__bloomdedup_takes filter add create size try' -l on-full -x -a 'grow warn fail' -d 'what to do beyond the capacity'
complete -c bloomdedup -n '__bloomdedup_takes filter add create' -l max-size -x -d 'how large the filter may become'
complete -c bloomdedup -n '__bloomdedup_takes filter add create merge' -l lock-timeout -x -d 'seconds to wait for another run'
complete -c bloomdedup -n '__bloomdedup_takes filter add' -l shared -d 'work beside other runs with --shared'
complete -c bloomdedup -n '__bloomdedup_takes filter add check' -s j -l threads -x -d 'how many threads work'
complete -c bloomdedup -n '__bloomdedup_takes filter add check' -l no-gunzip -d 'read compressed files as they are'
complete -c bloomdedup -n '__bloomdedup_takes create merge' -l force -d 'overwrite the file'
complete -c bloomdedup -n '__bloomdedup_takes create' -l like -r -F -d 'with the shape and secret of this filter'
complete -c bloomdedup -n '__bloomdedup_takes create' -l hash -x -a 'xxh3 siphash' -d 'which keyed hash'
complete -c bloomdedup -n '__bloomdedup_takes create' -l secret-file -r -F -d 'take the secret of the hash from this file'
complete -c bloomdedup -n '__bloomdedup_takes info size try' -l json -d 'one line for programs'
complete -c bloomdedup -n '__bloomdedup_takes info' -l verify -d 'is any full layer damaged?'
complete -c bloomdedup -n '__bloomdedup_takes size' -l table -d 'sizes for many numbers of lines'
complete -c bloomdedup -n '__bloomdedup_takes try' -l measure -d 'make such a filter in memory, and measure'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create info merge size try' -s h -l help -d help
complete -c bloomdedup -n '__bloomdedup_takes filter' -s V -l version -d 'the version'
