#compdef leadpipe
# Completion of leadpipe for zsh.
_leadpipe() {
  local -a replies
  replies=("${(@f)$(command leadpipe completion zsh -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}")
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
