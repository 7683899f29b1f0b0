import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { afterAll } from 'vitest';
import { bareEnvironment, command, temporaryFolder } from './run.ts';
import { toWords, type Words } from './words.ts';

export interface TerminalOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Redirections for the shell, such as `>leads.jsonl` or `</dev/null`. Without them, all three streams are the terminal. */
  readonly redirect?: string;
  /** Time limit: the program is then killed, and waiting for it fails. */
  readonly limitMs?: number;
}

export interface TerminalEnd {
  readonly transcript: string;
  readonly code: number | null;
}

/** A program in a terminal of its own: it leads the session, and hangs up with it. */
export interface Terminal {
  /** Every byte that the terminal was sent so far. */
  transcript(): string;
  /** Resolves when the transcript matches, rejects when it has ended without. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** Presses keys: `\r` is Enter, `\x03` is Ctrl-C. */
  type(keys: string): void;
  resize(columns: number): void;
  signal(name: NodeJS.Signals): void;
  /** Closes the terminal, as a lost connection does. */
  hangUp(): void;
  readonly ended: Promise<TerminalEnd>;
}

const terminals = new Set<{ kill(): void }>();
// What a failed test has left.
afterAll(() => {
  for (const terminal of terminals) terminal.kill();
});

/** Runs the built command in a terminal. */
export function inTerminal(line: Words, options?: TerminalOptions): Terminal {
  return openTerminal([process.execPath, command, ...toWords(line)], options);
}

/** Runs any program in a terminal, by util-linux' `script`: Node has no pseudo-terminals. */
export function openTerminal(
  words: readonly string[],
  { columns = 80, rows = 24, env, cwd, redirect = '', limitMs = 110_000 }: TerminalOptions = {},
): Terminal {
  // The shell says on 3 which process and which terminal it is, sizes the terminal, and becomes the program.
  const line = `{ echo $$; tty; } >&3; stty cols ${columns} rows ${rows}; exec 3>&-; exec ${words.map(quoted).join(' ')} ${redirect}`;
  const child = spawn(
    'script',
    ['--quiet', '--return', '--flush', '--echo', 'always', '--command', line, '/dev/null'],
    {
      env: { ...bareEnvironment(), TERM: 'xterm-256color', LANG: 'C.UTF-8', SHELL: '/bin/sh', ...env },
      cwd: cwd ?? temporaryFolder(),
      stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
    },
  );
  const { stdin, stdout } = child as ChildProcessWithoutNullStreams;
  const names = child.stdio[3];
  let text = '';
  let named = '';
  let over = false;
  let look = (): void => {};
  stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    look();
  });
  names?.on('data', (piece: Buffer) => {
    named += String(piece);
  });
  stdin.on('error', () => {});
  const terminal = { kill: () => void child.kill('SIGKILL') };
  terminals.add(terminal);
  const limit = setTimeout(terminal.kill, limitMs);
  const ended = new Promise<TerminalEnd>((resolve, reject) => {
    child.on('error', reject).on('close', (code) => {
      over = true;
      clearTimeout(limit);
      terminals.delete(terminal);
      look();
      resolve({ transcript: text, code });
    });
  });
  const [pid, tty] = [() => Number(named.split('\n')[0]), () => named.split('\n')[1] ?? ''];

  return {
    ended,
    transcript: () => text,
    waitFor: (pattern) =>
      new Promise((resolve, reject) => {
        const before = look;
        look = () => {
          before();
          const found = pattern.exec(text);
          if (found !== null) resolve(found);
          else if (over) reject(new Error(`${pattern} was not seen in:\n${JSON.stringify(text)}`));
        };
        look();
      }),
    type: (keys) => void stdin.write(keys),
    resize: (wide) => void execFileSync('stty', ['-F', tty(), 'cols', String(wide)]),
    signal: (name) => void process.kill(pid(), name),
    hangUp: terminal.kill,
  };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
