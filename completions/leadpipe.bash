# Completion of leadpipe for bash; bash 3.2 too.
_leadpipe() {
  local kind reply
  COMPREPLY=()
  {
    IFS= read -r kind
    while IFS= read -r reply; do COMPREPLY+=("$reply"); done
  } < <(command leadpipe completion bash -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
  case $kind:$2 in
    files:@*)
      # Readline takes the @ for a part of the name.
      while IFS= read -r reply; do
        [ -d "$reply" ] && reply=$reply/ && compopt -o nospace 2>/dev/null
        COMPREPLY+=("@$reply")
      done < <(compgen -f -- "${2#@}")
      compopt -o filenames 2>/dev/null
      ;;
    files:*) ;;
    # Without an answer, readline completes files.
    *) compopt +o default 2>/dev/null ;;
  esac
}
complete -o default -F _leadpipe leadpipe
