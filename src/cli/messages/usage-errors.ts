import type { Command, CommanderError } from 'commander';
import { UsageError } from '../../errors.ts';
import { toCorrection, toDashed, toMissing } from './corrected.ts';
import { nearOptions } from './near-commands.ts';

/**
 * What commander found wrong, said as every other error is. An option that stands in the wrong place names the
 * commands that have it; for that, and then only, the whole program is loaded, by `programOf` without words.
 */
export async function toUsageError(
  error: CommanderError,
  argv: readonly string[],
  programOf: (words?: readonly string[]) => Promise<Command>,
): Promise<UsageError> {
  if (error.code === 'commander.missingArgument' || error.code === 'commander.excessArguments') {
    const command = namedIn(await programOf(argv), argv);
    const [, name] = /'([^']+)'/.exec(error.message) ?? [];
    const missing = command.registeredArguments.find((one) => one.required && one.name() === name);
    const correction = toCorrection(command, argv);
    if (correction !== undefined) return correction;
    if (error.code === 'commander.missingArgument' && missing !== undefined)
      return (await toMissingValue(command, argv)) ?? toMissing(command, missing);
    if (command.name() === 'login') {
      return new UsageError(
        'login takes no arguments',
        'It asks for the API key. A script can give it: leadpipe auth login < key.txt',
      );
    }
  }
  const [message = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  const typed = error.code === 'commander.unknownOption' ? /'(.+)'/s.exec(message)?.[1] : undefined;
  const unknown = typed?.split('=')[0];
  if (typed !== undefined && unknown !== undefined) {
    // What was typed after the = may be a key.
    const said = `unknown option "${unknown}"`;
    const command = namedIn(await programOf(argv), argv);
    const near = nearOptions[unknown];
    const [name = ''] = near?.split(' ') ?? [];
    if (command.options.some(({ long }) => long === name))
      return new UsageError(said, `Did you mean ${near}?`);
    if (typed !== unknown && command.options.some(({ long }) => long === unknown)) {
      return new UsageError(`${unknown} takes no value`, `Write it alone: ${unknown}`);
    }
    const text = argv.find((word) => word.startsWith('-') && word.endsWith(typed.slice(1)));
    const isText =
      typed === unknown && /\s/.test(typed) && !/key|token|secret/.test(typed.split(/\s/)[0] ?? '');
    const line = isText && text !== undefined ? toDashed(command, argv, text) : undefined;
    if (line !== undefined) {
      return new UsageError(
        said,
        `A text that begins with - needs -- before it. You probably meant: ${line}`,
      );
    }
    const owners = ownersOf(unknown, await programOf());
    if (owners.length > 0) return new UsageError(said, `It is an option of ${toList(owners)}.`);
    if (/key|token|secret/.test(unknown)) return new UsageError(said, keyHint);
    return new UsageError(said, suggestion?.replace(/^\((.*)\)$/, '$1'));
  }
  const [, flags] = /^option '([^']+)' argument missing$/.exec(message) ?? [];
  if (flags !== undefined) return new UsageError(`the value of ${flags} is missing`);
  // As in every other message.
  return new UsageError(message.replace(/'([^'\n]*)'/g, '"$1"'), suggestion?.replace(/^\((.*)\)$/, '$1'));
}

/** Of a setting that is named, the example is about it; undefined for anything else. */
async function toMissingValue(command: Command, argv: readonly string[]): Promise<UsageError | undefined> {
  if (command.name() !== 'set') return undefined;
  const { settingNames, wordsOf } = await import('../../config/settings.ts');
  const setting = settingNames.find((one) => argv.includes(one));
  if (setting === undefined) return undefined;
  const [value = examples[setting] ?? '60'] = wordsOf(setting);
  return new UsageError('the value is missing', `For example: leadpipe config set ${setting} ${value}`);
}

const examples: Readonly<Record<string, string>> = {
  base_url: 'https://api.example.com',
  ca_file: 'authority.pem',
};

const keyHint =
  'No option takes the API key: other users could read it. Run `leadpipe auth login`, or set LEADPIPE_API_KEY.';

/** Pure: the command that the first words name. */
function namedIn(command: Command, words: readonly string[]): Command {
  const sub = command.commands.find((one) => one.name() === words[0]);
  return sub === undefined ? command : namedIn(sub, words.slice(1));
}

/** Pure: the commands that have an option of this name, such as `task run`. */
function ownersOf(flag: string, command: Command, path = ''): string[] {
  const own = command.options.some((option) => option.long === flag || option.short === flag);
  return [
    ...(own && path !== '' ? [path] : []),
    ...command.commands.flatMap((sub) => ownersOf(flag, sub, `${path} ${sub.name()}`.trim())),
  ];
}

const namedAtMost = 4;

function toList(names: readonly string[]): string {
  const more = names.length > namedAtMost ? ' and others' : '';
  return names.slice(0, namedAtMost).join(', ') + more;
}
