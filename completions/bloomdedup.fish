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
        if contains -- $word $__bloomdedup_with_argument
            set skip yes
            continue
        end
        switch $word
            case --
                echo filter
                return
            case '-*'
            case '*'
                if contains -- $word $__bloomdedup_names
                    echo $word
                else
                    echo filter
                end
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

# generated from src/cli/option_table.c by make completions
set -g __bloomdedup_names add check create info key merge partition remove size try serve help version
set -g __bloomdedup_with_argument -f --filter -o --output --parts --duplicates --tee --files0-from --to-command -d --directory -l --listen --socket-mode --max-connections --max-key --max-value --max-unread --idle-timeout --lease --max-leases -n --capacity -p --error-rate --window -m --memory --hashes --on-full --max-size --like --hash --secret-file --lock-timeout -k --key -t --field-separator --url-ignore -s --skip-chars -w --check-chars --part -j --threads --max-record
complete -c bloomdedup -n '__bloomdedup_takes try serve help version' -f
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a add -d 'remember lines, and print nothing'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a check -d 'print the lines that are in a filter'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a create -d 'make an empty filter'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a info -d 'describe filters'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a key -d 'print the keys of lines, as they are compared'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a merge -d 'merge several filters into one'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a partition -d 'split lines into parts of about equal size, by key'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a remove -d 'remove filters'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a size -d 'compute how large a filter must be'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a try -d 'compute the same, in short'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a serve -d 'serve filters to memcached and Redis clients'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a help -d 'print this help, or that of a command'
complete -c bloomdedup -n '__bloomdedup_takes help' -a 'add check create info key merge partition remove size try serve help version'
complete -c bloomdedup -n 'test -z (__bloomdedup_command)' -a version -d 'print the version'
complete -c bloomdedup -n '__bloomdedup_takes filter add check key' -s f -l filter -r -F -d 'remember lines in this file, or on a server with Redis (redis://HOST/NAME)'
complete -c bloomdedup -n '__bloomdedup_takes create info' -s f -l filter -r -F -d 'name the filter, as the operand FILTER does'
complete -c bloomdedup -n '__bloomdedup_takes filter check merge partition' -s o -l output -r -F -d 'print to FILE instead of standard output'
complete -c bloomdedup -n '__bloomdedup_takes partition' -l parts -x -d 'split lines into N parts, 1 to 4096'
complete -c bloomdedup -n '__bloomdedup_takes filter' -l append -d 'add to the end of FILE (with -o)'
complete -c bloomdedup -n '__bloomdedup_takes filter' -l overwrite -d 'replace FILE, which may have contents (with -o)'
complete -c bloomdedup -n '__bloomdedup_takes filter' -s d -l repeated -d 'print the lines seen before instead of the new ones'
complete -c bloomdedup -n '__bloomdedup_takes filter' -l duplicates -r -F -d 'also write the lines seen before to FILE'
complete -c bloomdedup -n '__bloomdedup_takes filter' -l tee -r -F -d 'add the new lines to FILE, too, before they are printed'
complete -c bloomdedup -n '__bloomdedup_takes check' -s v -l invert -d 'print the lines that are not in the filter'
complete -c bloomdedup -n '__bloomdedup_takes filter check' -l mark -d 'print every line, with new or seen and a tab in front'
complete -c bloomdedup -n '__bloomdedup_takes filter add check key partition' -l files0-from -r -F -d 'read the files whose names are in FILE, each ended by a NUL'
complete -c bloomdedup -n '__bloomdedup_takes filter add check' -s q -l quiet -d 'print no lines'
complete -c bloomdedup -n '__bloomdedup_takes filter' -l to-command -x -a '(__fish_complete_command)' -d 'feed the lines to this shell command'
complete -c bloomdedup -n '__bloomdedup_takes filter add partition' -l atomic -d 'remember lines only if the whole run succeeds'
complete -c bloomdedup -n '__bloomdedup_takes filter' -l dry-run -d 'print on standard output what the run would print, and change no file'
complete -c bloomdedup -n '__bloomdedup_takes filter add serve' -l sync -d 'sync to disk, so that remembered lines also survive a power failure'
complete -c bloomdedup -n '__bloomdedup_takes filter add check' -l stats -f -a 'json' -d 'print statistics on standard error at the end'
complete -c bloomdedup -n '__bloomdedup_takes filter add check' -l progress -d 'show a line of live figures on the terminal'
complete -c bloomdedup -n '__bloomdedup_takes serve' -s d -l directory -r -F -d 'serve the filters NAME.bloom of this directory'
complete -c bloomdedup -n '__bloomdedup_takes serve' -s l -l listen -x -d 'listen on ADDRESS'
complete -c bloomdedup -n '__bloomdedup_takes serve' -l socket-mode -x -d 'give unix sockets this mode'
complete -c bloomdedup -n '__bloomdedup_takes serve' -l admin -d 'let all clients delete filters, not only those on a unix socket'
complete -c bloomdedup -n '__bloomdedup_takes serve' -l no-admin -d 'let no client make or delete filters or set the memory limit'
complete -c bloomdedup -n '__bloomdedup_takes serve' -l read-only -d 'let no client change anything'
complete -c bloomdedup -n '__bloomdedup_takes serve' -l max-connections -x -d 'serve at most N connections at a time'
complete -c bloomdedup -n '__bloomdedup_takes serve' -l max-key -x -d 'accept keys of up to SIZE'
complete -c bloomdedup -n '__bloomdedup_takes serve' -l max-value -x -d 'accept values of up to SIZE'
complete -c bloomdedup -n '__bloomdedup_takes serve' -l max-unread -x -d 'stop reading from a client that leaves more than SIZE of its replies unread'
complete -c bloomdedup -n '__bloomdedup_takes serve' -l idle-timeout -x -d 'close connections that have been idle for SEC seconds'
complete -c bloomdedup -n '__bloomdedup_takes serve' -l lease -x -d 'lease subkeys to clients that add them with an expiration time, for up to MAX'
complete -c bloomdedup -n '__bloomdedup_takes serve' -l max-leases -x -d 'allow at most N leases at a time'
complete -c bloomdedup -n '__bloomdedup_takes filter add create size serve' -s n -l capacity -x -d 'plan for N lines'
complete -c bloomdedup -n '__bloomdedup_takes filter add create size serve' -s p -l error-rate -x -d 'drop at most this share of new lines (false positives)'
complete -c bloomdedup -n '__bloomdedup_takes filter add create size' -l window -x -d 'forget lines after W'
complete -c bloomdedup -n '__bloomdedup_takes create size serve' -s m -l memory -x -d 'limit the filter to SIZE'
complete -c bloomdedup -n '__bloomdedup_takes create size try' -l hashes -x -d 'use K hash functions, 1 to 64'
complete -c bloomdedup -n '__bloomdedup_takes filter add create size try' -l on-full -x -a 'grow warn fail' -d 'grow, warn or fail beyond N lines'
complete -c bloomdedup -n '__bloomdedup_takes filter add' -l no-create -d 'fail if there is no such filter, rather than make one'
complete -c bloomdedup -n '__bloomdedup_takes filter add' -l max-size -x -d 'let the filter grow to SIZE at most'
complete -c bloomdedup -n '__bloomdedup_takes create' -l like -r -F -d 'take the shape and the secret of the filter OTHER, so that both can be merged'
complete -c bloomdedup -n '__bloomdedup_takes create' -l hash -x -a 'xxh3 siphash' -d 'use this keyed hash'
complete -c bloomdedup -n '__bloomdedup_takes create' -l secret-file -r -F -d 'take the hash\'s secret from FILE'
complete -c bloomdedup -n '__bloomdedup_takes filter add' -l shared -d 'share the filter with other --shared runs without waiting'
complete -c bloomdedup -n '__bloomdedup_takes filter add' -l claim -d 'print each line on only one of all machines, with a filter in Redis'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create merge remove' -l lock-timeout -x -d 'wait up to SEC seconds for another run that uses the filter or an output, or for a server that cannot be reached'
complete -c bloomdedup -n '__bloomdedup_takes create merge' -l force -d 'replace an existing filter'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create key partition' -s z -l zero-terminated -d 'end lines with NUL, not with newline'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create key partition' -s k -l key -x -d 'compare these fields'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create key partition' -s t -l field-separator -x -d 'separate fields at C'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create key partition' -l csv -f -a 'backslash' -d 'read comma-separated values'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create key partition' -l header -d 'take names for -k from the first record of each file (--csv), which is printed once'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create key partition' -l url -f -a 'form scheme www slash values numbers fragment tracking' -d 'compare URLs in their normal form (RFC 3986)'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create key partition' -l url-ignore -x -d 'ignore these parameters of URLs (--url)'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create key partition' -l url-sort -d 'ignore the order of parameters of URLs (--url)'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create key partition' -l strip-cr -d 'ignore a carriage return at the end'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create key partition' -l trim -d 'ignore blanks at both ends'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create key partition' -l trim-fields -d 'ignore blanks around each field of -k, or value of --json'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create key partition' -s s -l skip-chars -x -d 'ignore the first N bytes'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create key partition' -s w -l check-chars -x -d 'compare at most N bytes'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create key partition' -s i -l ignore-case -d 'ignore case (A to Z only)'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create' -l keep-empty -d 'print every line whose key is empty, rather than take all but the first for duplicates'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create' -l part -x -d 'read only lines whose keys are in part I of N'
complete -c bloomdedup -n '__bloomdedup_takes info size try' -l json -d 'print one line of JSON'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create key partition' -l json -x -d 'compare a value of JSON lines, which POINTER refers to'
complete -c bloomdedup -n '__bloomdedup_takes info' -l verify -d 'read the whole filter and compare the checksums of its full layers'
complete -c bloomdedup -n '__bloomdedup_takes size' -l table -f -a 'k' -d 'print the sizes for many N and P'
complete -c bloomdedup -n '__bloomdedup_takes try' -l measure -d 'make such a filter in memory, fill it, and measure its error rate and speed'
complete -c bloomdedup -n '__bloomdedup_takes filter add check key partition' -s j -l threads -x -d 'use N threads'
complete -c bloomdedup -n '__bloomdedup_takes filter add check key partition' -l strict-keys -d 'fail at the first line that is not a URL (--url), is not JSON or lacks a value (--json), or has none of the fields (-k)'
complete -c bloomdedup -n '__bloomdedup_takes filter add check' -l strict-part -d 'fail at the first line of another part (--part)'
complete -c bloomdedup -n '__bloomdedup_takes filter add check key partition' -l max-record -x -d 'accept --csv records of up to SIZE'
complete -c bloomdedup -n '__bloomdedup_takes filter add check key partition' -l no-decompress -d 'read compressed files as they are'
complete -c bloomdedup -n '__bloomdedup_takes filter add check key partition' -l no-gunzip -d 'do the same as --no-decompress, under its former name'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create info key merge partition remove size try serve help version' -s h -l help -d 'print this help and exit'
complete -c bloomdedup -n '__bloomdedup_takes filter add check create info key merge partition remove size try serve help version' -s V -l version -d 'print the version and exit'
# end
