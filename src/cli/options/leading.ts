import { type Command, Help, type Option } from 'commander';

/**
 * Pure: moves options that come before a command or subcommand behind it, since commander gives an option to the command before it. Returns
 * the words unchanged if they name no command, or begin with an option that no command takes.
 */
export function toCommandFirst(command: Command, words: readonly string[]): readonly string[] {
  if (command.commands.length === 0) return words;
  const known = optionsBelow(command);
  let count = 0;
  while (/^-./.test(words[count] ?? '') && words[count] !== '--') {
    const takesNext = takesNextWord(known, words[count] as string);
    if (takesNext === undefined) return words;
    count += takesNext ? 2 : 1;
  }
  const leading = words.slice(0, count);
  const [first, ...rest] = words.slice(count);
  if (first === undefined || first === '--') return words;
  const sub = command.commands.find((one) => one.name() === first);
  if (sub !== undefined) return [first, ...toCommandFirst(sub, [...leading, ...rest])];
  return [first, ...rest, ...leading];
}

/** Pure: all options of a command, with --help; a help explains only some of them. */
export function optionsOf(command: Command): readonly Option[] {
  return new Help().visibleOptions(command);
}

/** Pure: the options of all commands below this one, or its own if there are none. */
export function optionsBelow(command: Command): readonly Option[] {
  if (command.commands.length === 0) return optionsOf(command);
  return command.commands.flatMap(optionsBelow);
}

export function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

/** Pure: whether the value of this option is the next word; undefined for an option that is not known. */
function takesNextWord(known: readonly Option[], word: string): boolean | undefined {
  const find = (flag: string): Option | undefined =>
    known.find(({ long, short }) => long === flag || short === flag);
  if (word.startsWith('--')) {
    const [name = ''] = word.split('=');
    const option = find(name);
    return option && takesValue(option) && name === word;
  }
  // Of combined letters, only the last can take the next word as its value: -qf csv.
  for (let at = 1; at < word.length; at++) {
    const option = find(`-${word[at]}`);
    if (option === undefined) return undefined;
    if (takesValue(option)) return at === word.length - 1;
  }
  return false;
}
