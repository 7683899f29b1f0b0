import { toWords } from '../helpers/words.ts';

/** A command line as a row of a table, and what it ends with. */
export interface CommandLine {
  /** As it stands in the table. */
  readonly line: string;
  readonly env: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly stdin: string;
  readonly exit: number;
  readonly says: readonly string[];
}

/**
 * A command line per line, as for a shell: words (in double quotes as in JSON), variables before them, standard input after `<<<`. `x*4001` is 4001
 * times x, `list*21` a list of 21 names. After `=>` come the expected parts of the message, separated by `|`; the first can be an exit code other
 * than the default.
 */
export function commandLines(table: string, usualExit: number): CommandLine[] {
  const lines = table.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').map((line) => toCommandLine(line, usualExit));
}

function toCommandLine(line: string, usualExit: number): CommandLine {
  const [before = '', after = ''] = line.split(' => ');
  const words = toWords(before).map(repeated);
  const fed = words.indexOf('<<<');
  const typed = fed === -1 ? words : words.slice(0, fed);
  const first = typed.findIndex((word) => !/^[A-Z_]+=/.test(word));
  const [code, ...more] = after.split(' | ');
  const exit = /^exit (\d+)$/.exec(code ?? '')?.[1];
  return {
    line,
    env: Object.fromEntries(typed.slice(0, first).map((word) => word.split(/=(.*)/s).slice(0, 2))),
    args: typed.slice(first),
    stdin: fed === -1 ? '' : words.slice(fed + 1).join(''),
    exit: Number(exit ?? usualExit),
    says: (exit === undefined ? [code ?? '', ...more] : more).map(unescaped),
  };
}

function repeated(text: string): string {
  const [, unit, count] = /^(.+)\*(\d+)$/su.exec(text) ?? [];
  if (unit === undefined) return text;
  if (unit === 'list') return Array.from({ length: Number(count) }, (_, at) => `f${at}`).join(',');
  return unit.repeat(Number(count));
}

const unescaped = (text: string): string => text.replaceAll('\\n', '\n').replaceAll('\\u0020', ' ');
