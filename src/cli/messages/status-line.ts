import type { Context, StatusLine } from '../../context.ts';
import { hasUtf8, toSigns } from '../../output/ascii.ts';
import { toTerminalText } from '../../output/clean.ts';
import { colorOf, stylesOf } from '../../output/color.ts';
import type { createSpinner } from '../../output/spinner.ts';
import { foldFacts, toFacts, wrapMessage } from '../../output/wrap.ts';
import type { ReportOptions } from '../options/shared-options.ts';

/** Returns what to show now; undefined leaves the line to others. Called at least once a second. */
type StatusText = () => string | undefined;

/** The status line on stderr. A run has one, which all parts share. */
export function openStatusLine(context: Context, options: Partial<ReportOptions>): StatusLine {
  context.run.statusLine ??= createStatusLine(context, options);
  return context.run.statusLine;
}

/** Most runs end sooner, and need no spinner. */
const loadMs = 200;

function createStatusLine(context: Context, options: Partial<ReportOptions>): StatusLine {
  const { clock, env, stderr } = context;
  // A dumb terminal can't remove what it shows, and --verbose prints more than this line.
  const isSilent =
    !stderr.isTerminal || options.quiet || options.jsonErrors || options.verbose || env.TERM === 'dumb';
  let shown: readonly { readonly text: StatusText; readonly urgent: boolean }[] = [];
  let holds = 0;
  let gap = '';
  let cancel: (() => void) | undefined;
  let isLoading = false;
  let spinner: ReturnType<typeof createSpinner> | undefined;

  /** Returns whether there is something to show. */
  function update(): boolean {
    const latest = shown.toReversed().sort((a, b) => Number(b.urgent) - Number(a.urgent));
    let text: string | undefined;
    if (holds === 0) for (const one of latest) text ??= one.text();
    if (text === undefined) spinner?.clear();
    else spinner?.show(text);
    return text !== undefined;
  }

  async function load(): Promise<void> {
    const { createSpinner } = await import('../../output/spinner.ts');
    spinner = createSpinner(stderr, {
      signs: toSigns(context, stderr),
      styles: stylesOf(colorOf(context, stderr, options.color ?? true)),
      // The consoles of Linux and of older Windows, and locales without these characters.
      plain:
        !hasUtf8(env) ||
        env.TERM === 'linux' ||
        (env.OS === 'Windows_NT' && !env.WT_SESSION && !env.TERM_PROGRAM),
    });
    update();
  }

  function tick(): void {
    tickAfter(1000);
    if (!update() || isLoading) return;
    isLoading = true;
    void load();
  }

  function tickAfter(ms: number): void {
    cancel?.();
    cancel = clock.after(spinner === undefined ? loadMs : ms, tick);
  }

  return {
    update: () => void update(),
    show(text: StatusText, urgent = false): () => void {
      if (isSilent) return () => {};
      const one = { text, urgent };
      shown = [...shown, one];
      update();
      if (cancel === undefined) tickAfter(1000);
      return () => {
        shown = shown.filter((other) => other !== one);
        if (shown.length === 0) {
          cancel?.();
          cancel = undefined;
        }
        update();
      };
    },
    hold(): void {
      holds++;
      update();
    },
    release(): void {
      holds--;
      // Often this was the last output: a line that returns for an instant would flicker.
      if (cancel !== undefined) tickAfter(100);
    },
    wrote(): void {
      gap = '\n';
    },
    flushGap(): string {
      const taken = gap;
      gap = '';
      return taken;
    },
    pause(): void {
      holds = Number.POSITIVE_INFINITY;
      update();
    },
  };
}

export function waitedFor(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}

/** Runs `work` while the line shows this text. `work` calls `update` to have it refreshed. */
export async function withStatus<T>(
  context: Context,
  options: Partial<ReportOptions>,
  text: (seconds: number) => string | undefined,
  work: (update: () => void) => Promise<T>,
): Promise<T> {
  const { clock } = context;
  const start = clock.monotonic();
  const line = openStatusLine(context, options);
  const stop = line.show(() => text((clock.monotonic() - start) / 1000));
  try {
    return await work(line.update);
  } finally {
    stop();
  }
}

/** Pure: `5 of 30 leads · task running, 10 ready · 12 s`. */
export function toCounted(limit: number | undefined, count: number, label: string, seconds: number): string {
  const of = limit === undefined || limit < count ? '' : ` of ${limit}`;
  return toFacts([
    count > 0 && `${count}${of} ${count === 1 && of === '' ? 'lead' : 'leads'}`,
    label,
    seconds >= 2 && waitedFor(Math.floor(seconds)),
  ]);
}

/** Lines on stderr that are not errors. All are cleaned, since they repeat words of the service. */
export function createNotes(context: Context, options: Partial<ReportOptions>) {
  const { yellow, dim } = stylesOf(colorOf(context, context.stderr, options.color ?? true));
  const signs = toSigns(context, context.stderr);
  const print = (line: string, style = (part: string): string => part): void => {
    const { stream, columns } = context.stderr;
    const parts = foldFacts(toTerminalText(line), columns).flatMap((part) => wrapMessage(part, columns));
    const status = context.run.statusLine;
    status?.hold();
    stream.write((status?.flushGap() ?? '') + parts.map((part) => `${style(signs(part))}\n`).join(''));
    status?.release();
  };
  const { jsonErrors, quiet, verbose } = options;
  return {
    /** Progress and results. --quiet and --json-errors silence them. */
    say(line: string): void {
      if (!quiet && !jsonErrors) print(line);
    },
    /** IDs and the like, dimmed; silenced as `say`. */
    quote(line: string): void {
      if (!quiet && !jsonErrors) print(line, dim);
    },
    /** Warnings about harmless problems. Only --json-errors silences them. */
    warn(line: string): void {
      if (!jsonErrors) print(`warning: ${line}`, (part) => part.replace(/^warning:/, (word) => yellow(word)));
    },
    trace(line: string): void {
      if (verbose) print(line);
    },
  };
}
