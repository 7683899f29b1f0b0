import { toTerminalText } from '../../output/clean.ts';
import { type BashLine, readBashLine } from './bash-line.ts';
import type { Candidate } from './completion.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** How a shell asks for words, and how it wants them. */
interface ShellForm {
  /** Pure: the words of the line, the unfinished one last. */
  words(given: readonly string[]): readonly string[];
  /** Pure: one candidate; undefined where it can't stand. */
  reply(candidate: Candidate, prefix: string, given: readonly string[]): string | undefined;
  readonly script: string;
}

/*
 * Each script asks leadpipe itself, so that none goes stale: `leadpipe completion <shell> -- <what is typed>` answers
 * with the line `words` and a candidate on each further line, or with `files`, where the shell's own completion of
 * files is wanted. An error answers nothing on stdout, and is not shown in the middle of the user's line.
 */

const bashScript = `# Completion of leadpipe for bash; bash 3.2 too.
_leadpipe() {
  local kind reply
  COMPREPLY=()
  {
    IFS= read -r kind
    while IFS= read -r reply; do COMPREPLY+=("$reply"); done
  } < <(command leadpipe completion bash -- "\${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
  case $kind:$2 in
    files:@*)
      # Readline takes the @ for a part of the name.
      while IFS= read -r reply; do
        [ -d "$reply" ] && reply=$reply/ && compopt -o nospace 2>/dev/null
        COMPREPLY+=("@$reply")
      done < <(compgen -f -- "\${2#@}")
      compopt -o filenames 2>/dev/null
      ;;
    files:*) ;;
    # Without an answer, readline completes files.
    *) compopt +o default 2>/dev/null ;;
  esac
}
complete -o default -F _leadpipe leadpipe
`;

const zshScript = `#compdef leadpipe
# Completion of leadpipe for zsh.
_leadpipe() {
  local -a replies
  replies=("\${(@f)$(command leadpipe completion zsh -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null </dev/null)}")
  [[ $PREFIX == --*=* ]] && compset -P 1 '*='
  case $replies[1] in
    files)
      compset -P '@'
      _files
      ;;
    words)
      shift replies
      _describe -V -t values value replies
      ;;
  esac
}
if [[ $funcstack[1] == _leadpipe ]]; then
  _leadpipe "$@"
else
  compdef _leadpipe leadpipe
fi
`;

const fishScript = `# Completion of leadpipe for fish.
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
            printf '%s\\n' $replies[2..-1]
    end
end
complete -c leadpipe -f -a '(__leadpipe_complete)'
`;

export const shellForms: Readonly<Record<Shell, ShellForm>> = {
  bash: {
    words: (given) => readLine(given).words,
    reply: ({ value }, prefix, given) => readLine(given).reply(prefix + value),
    script: bashScript,
  },
  zsh: {
    words: (given) => given,
    // zsh puts a -- before the meaning, also where there is none.
    reply: ({ value, meaning }) => value.replace(/[\\:]/g, '\\$&') + (meaning === '' ? '' : `:${meaning}`),
    script: zshScript,
  },
  fish: {
    words: (given) => given,
    reply: ({ value, meaning }, prefix) => `${prefix}${value}\t${meaning}`,
    script: fishScript,
  },
};

/** Pure: what leadpipe answers to a script. */
export function toReplies(
  shell: Shell,
  candidates: readonly Candidate[],
  prefix: string,
  given: readonly string[],
): string[] {
  return candidates
    .filter(({ value }) => value === toTerminalText(value))
    .map(({ value, meaning }) => ({ value, meaning: toTerminalText(meaning) }))
    .map((candidate) => shellForms[shell].reply(candidate, prefix, given))
    .filter((reply) => reply !== undefined);
}

function readLine([line = '', breaks = '']: readonly string[]): BashLine {
  return readBashLine(line, breaks);
}
