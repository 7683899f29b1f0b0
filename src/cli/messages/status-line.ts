import type { Context } from '../../context.ts';
import { createProgress, type Progress } from '../../output/progress.ts';
import type { ReportOptions } from '../options/options.ts';
import { colorOf } from './color.ts';

/** What to show now; undefined leaves the line to others. It is asked for at least once a second. */
export type StatusText = () => string | undefined;

/** The line on stderr that says what is going on. There is one for each run, whoever has something to say on it. */
export interface StatusLine {
  /** Shows a text until the returned function is called; those that are `urgent` stand before the others. */
  show(text: StatusText, urgent?: boolean): () => void;
  update(): void;
  /** Takes it away until `release`: something else is written to the terminal. */
  hold(): void;
  release(): void;
  /** Takes it away for good: from now on nobody knows what stands on the terminal's last line. */
  hush(): void;
}

const lines = new WeakMap<Context, StatusLine>();

/** The line of this run, where there is one yet. */
export function statusLineOf(context: Context): StatusLine | undefined {
  return lines.get(context);
}

export function openStatusLine(context: Context, options: Partial<ReportOptions>): StatusLine {
  const line = lines.get(context) ?? createStatusLine(context, options);
  lines.set(context, line);
  return line;
}

function createStatusLine(context: Context, options: Partial<ReportOptions>): StatusLine {
  const { clock, env, stderr } = context;
  const usual: StatusText[] = [];
  const urgent: StatusText[] = [];
  let isLoading = false;
  let progress: Progress | undefined;
  let holds = 0;
  let hushed = false;
  let cancel: (() => void) | undefined;

  /** The code is loaded beside the request, not before it. */
  async function load(): Promise<void> {
    progress = await createProgress(stderr, clock, {
      // A dumb terminal can't take back what it shows, and lines of --verbose say more.
      quiet: options.quiet || options.jsonErrors || options.verbose || env.TERM === 'dumb',
      // The consoles of Linux and of the older Windows.
      plain: env.TERM === 'linux' || (env.OS === 'Windows_NT' && !env.WT_SESSION && !env.TERM_PROGRAM),
      color: colorOf(context, stderr, options.color ?? true),
    });
    update();
  }

  function textNow(): string | undefined {
    for (const text of [...urgent.toReversed(), ...usual.toReversed()]) {
      const shown = text();
      if (shown !== undefined) return shown;
    }
    return undefined;
  }

  function update(): void {
    if (hushed || holds > 0) return;
    const text = textNow();
    if (text === undefined) progress?.pause();
    else progress?.update(text);
  }

  function tick(): void {
    update();
    cancel = clock.after(1000, tick);
  }

  return {
    show(text, isUrgent = false) {
      const shown = isUrgent ? urgent : usual;
      shown.push(text);
      if (!isLoading) void load();
      isLoading = true;
      update();
      cancel ??= clock.after(1000, tick);
      return () => {
        const at = shown.indexOf(text);
        if (at !== -1) shown.splice(at, 1);
        if (usual.length + urgent.length === 0) {
          cancel?.();
          cancel = undefined;
        }
        update();
      };
    },
    update,
    hold() {
      holds++;
      progress?.pause();
    },
    release() {
      holds--;
      update();
    },
    hush() {
      hushed = true;
      progress?.pause();
    },
  };
}

export function waitedFor(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}
