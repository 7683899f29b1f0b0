import { extname } from 'node:path';
import type { Context } from '../../context.ts';
import type { InputRow } from '../../input/rows.ts';
import type { JsonView } from '../../json/text.ts';
import type { Delivery } from '../../operations/delivery.ts';
import type { FinishedList } from '../../operations/list/list.ts';
import type { ListCounts, RowResult } from '../../operations/list/run.ts';
import { exact } from '../../operations/spending.ts';
import { openRecords } from '../../output/records.ts';
import type { Closing } from '../messages/closing-line.ts';
import { waitedFor } from '../messages/status-line.ts';
import { type columnsOf, layoutOf, withLast } from './joined.ts';

/** Opens the file of `--errors`, for the rows that fail. Throws as `openRecords`. */
export async function openErrors(
  context: Context,
  file: string | undefined,
  base: ReturnType<typeof columnsOf>,
): Promise<Delivery | undefined> {
  if (file === undefined) return undefined;
  const { hasPart } = await import('../../output/file-sink.ts');
  const added = ['line', 'error', 'request_id', 'charged'].map((name) => ({
    header: name,
    value: (record: JsonView) => record.member(name),
  }));
  return await openRecords(context, {
    format: extname(file).toLowerCase() === '.csv' ? 'csv' : 'jsonl',
    shape: 'list',
    layout: layoutOf(base, added, 'row'),
    file,
    append: false,
    // What a killed run had begun is written anew.
    resumed: (await hasPart(file)) ? { at: 0, warn: () => {} } : undefined,
    csvRaw: false,
    width: undefined,
    color: false,
    warn: () => {},
  });
}

/** Says that a row has no answer, and why: in the file of `--errors`, or on stderr. */
export async function tellFailed(
  { number, line, record = '{}' }: InputRow,
  result: Exclude<RowResult, { state: 'answered' }>,
  warn: (line: string) => void,
  errors: Delivery | undefined,
): Promise<void> {
  const charged = result.state === 'flawed' ? 'no' : result.charged;
  const requestId = result.state === 'flawed' ? undefined : result.requestId;
  if (errors === undefined) {
    const { message } = result;
    // What is wrong with a row says the line itself.
    const what = message.startsWith(`line ${line}`) ? `, ${message}` : ` (line ${line}): ${message}`;
    warn(`row ${number}${what} · charged: ${charged}`);
  }
  const members = Object.entries({ line, error: result.message, request_id: requestId ?? null, charged });
  await errors?.write([
    withLast(
      record,
      members.map(([name, value]) => [name, JSON.stringify(value)] as const),
    ),
  ]);
}

/**
 * Pure: a bar where it is known how many rows there are; how fast they go, and how long it will take. On a narrow terminal
 * what matters least is left out, so that the time left is never what is cut.
 */
export function toProgress(
  { done, failed }: ListCounts,
  { used }: { used: number },
  total: number | undefined,
  seconds: number,
  columns = 120,
): string {
  const rate = done / Math.max(seconds, 0.001);
  const whole = total === undefined ? undefined : Math.max(total, done);
  const text = (barWidth: number, isWhole: boolean): string =>
    [
      whole === undefined
        ? `${done} ${done === 1 ? 'row' : 'rows'} done`
        : `${toBar(done / Math.max(whole, 1), barWidth)}${done} of ${whole}`,
      ...(failed === 0 ? [] : [`${failed} failed`]),
      ...(seconds < 1 ? [] : [`${rate < 10 ? rate.toFixed(1) : Math.round(rate)}/s`]),
      ...(isWhole ? [`${used} at once`] : []),
      ...(whole === undefined || rate === 0 || seconds < 1
        ? []
        : [`${waitedFor(Math.ceil((whole - done) / rate))} left`]),
    ].join(', ');
  const forms = [text(20, true), text(20, false), text(8, false)];
  // The spinner stands in front of it.
  return forms.find(({ length }) => length <= columns - 4) ?? text(0, false);
}

function toBar(part: number, width: number): string {
  const filled = Math.round(width * part);
  return width === 0 ? '' : `[${'#'.repeat(filled)}${'-'.repeat(width - filled)}] `;
}

/** Pure: what a list came to; `price` is what a row costs at most, null where nobody can say. */
export function toSummary({ counts, operationId }: FinishedList, price: number | null): Closing {
  const { done, reused } = counts;
  return {
    what: `${done} ${done === 1 ? 'row' : 'rows'}`,
    also: reused === 0 ? undefined : `${reused} already bought, not charged again`,
    costAtMost: price === null ? null : exact(price * (done - reused)),
    ids: { operationId },
  };
}
