import type { Context } from '../context.ts';
import type { JsonText } from '../json/text.ts';
import { createProgress, type Progress } from '../output/progress.ts';
import { colorOf } from './color.ts';
import type { ConnectionOptions } from './options.ts';
import type { RecordOutput } from './record-output.ts';

/**
 * Runs `work` under a spinner that counts what it delivers. The spinner's code is loaded beside the request, not
 * before it.
 */
export async function withSpinner<T>(
  context: Context,
  options: ConnectionOptions,
  output: RecordOutput,
  label: string,
  work: (deliver: (records: readonly JsonText[]) => Promise<void>) => Promise<T>,
): Promise<T> {
  let progress: Progress | undefined;
  let ended = false;
  let records = 0;
  const text = (): string => (records === 0 ? label : `${label}: ${records} so far`);
  const loading = createProgress(context.stderr, {
    quiet: options.quiet === true || options.jsonErrors === true,
    color: colorOf(context, context.stderr, options.color),
  }).then((loaded) => {
    progress = loaded;
    if (!ended) loaded.update(text());
  });
  try {
    return await work(async (some) => {
      if (output.onTerminal) progress?.pause();
      await output.write(some);
      records += some.length;
      progress?.update(text());
    });
  } finally {
    ended = true;
    await loading;
    progress?.stop();
  }
}
