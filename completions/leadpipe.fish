# Completion of leadpipe for fish.
function __leadpipe_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l replies (command leadpipe completion fish -- $words[2..-1] "$token" 2>/dev/null </dev/null)
    switch "$replies[1]"
        case files
            set -l prefix (string match -r -- '^(?:--[^=]+=)?@?' "$token")
            for path in (__fish_complete_path (string replace -- "$prefix" '' "$token"))
                echo -- $prefix$path
            end
        case words
            printf '%s\n' $replies[2..-1]
    end
end
complete -c leadpipe -f -a '(__leadpipe_complete)'
