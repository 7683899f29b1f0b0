import { type Command, Help, type Option } from 'commander';

/**
 * Pure: the words with the command first. Options may stand before it and before its subcommand, but commander gives options to the command
 * that they follow. Words stay as they are where they name no command, or have an option there that no command takes.
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
  // Of several letters in one word, only the last one's value can be the next word: -qf csv.
  for (let at = 1; at < word.length; at++) {
    const option = find(`-${word[at]}`);
    if (option === undefined) return undefined;
    if (takesValue(option)) return at === word.length - 1;
  }
  return false;
}
