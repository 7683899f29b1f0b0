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
 * A command line in each line, as for a shell: words, those in double quotes as JSON writes them; variables before them; behind
 * `<<<` what comes on standard input. `x*4001` is so many x, `list*21` a list of so many names. Behind `=>` stand the parts of
 * what is said, with `|` between them; the first can be another exit code than the usual one.
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
