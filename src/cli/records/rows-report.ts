import { extname } from 'node:path';
import type { Context } from '../../context.ts';
import { placeOf } from '../../files/reading.ts';
import { isFilled, type JsonText, JsonView } from '../../json/text.ts';
import type { Delivery } from '../../operations/delivery.ts';
import { foundIn, kinds } from '../../operations/kinds/kinds.ts';
import type { ListOf } from '../../operations/kinds/layouts.ts';
import type { FinishedList } from '../../operations/kinds/list.ts';
import type { ListCounts } from '../../operations/kinds/list-outcome.ts';
import type { RowFailure } from '../../operations/kinds/row-parts.ts';
import { uniqueNames, withLast } from '../../operations/kinds/row-parts.ts';
import { countOf, plural } from '../../operations/wording.ts';
import type { WriterOptions } from '../../output/form.ts';
import { type OutputPlan, openRows } from '../../output/open-rows.ts';
import type { InputRow } from '../../requests/rows.ts';
import type { Closing } from '../messages/closing-line.ts';
import { shellWord } from '../messages/proposed.ts';
import { waitedFor } from '../messages/status-line.ts';
import { layoutOf, type RecordColumns } from './list-columns.ts';

const aboutFailure = ['line', 'error', 'request_id', 'charged'];
const maxFields = 5;
const barWidth = 20;

/** The failed rows of a list. They go into the file of `--errors`; without one, `warn` prints them. */
export function createErrors(
  context: Context,
  file: string | undefined,
  base: RecordColumns,
  own: readonly string[],
  csv: Pick<WriterOptions, 'delimiter' | 'mark'>,
) {
  const names = aboutFailure.map(uniqueNames(own, aboutFailure));
  const added = names.map((header) => ({ header, from: [[header]] }));
  let output: Awaited<ReturnType<typeof openRows>> | undefined;
  /** Whether the file is put in place. */
  let isDue = false;
  let ended: Promise<unknown> | undefined;
  const errors = {
    /** Opens the file. Returns the output of the list, whose `cut` also ends this file. Throws as `openRows`. */
    async openBeside(delivery: Delivery, announce: (file: string) => Promise<void>): Promise<Delivery> {
      if (file === undefined) return delivery;
      const plan: OutputPlan = {
        format: extname(file).toLowerCase() === '.csv' ? 'csv' : 'jsonl',
        shape: 'list',
        layout: layoutOf(base, added, names),
        file,
        append: false,
        isNew: false,
        isDelimiterFixed: false,
        ...csv,
      };
      output = await openRows(context, plan, announce);
      return {
        ...delivery,
        async cut() {
          const kept = await delivery.cut();
          // An error here is thrown at the end of the run.
          await errors.end().catch(() => undefined);
          return kept;
        },
      };
    },
    async write(
      row: InputRow,
      { message, requestId, charged }: RowFailure,
      warn: (line: string) => void,
    ): Promise<void> {
      const { number, line, isRow, record = '{}' } = row;
      isDue = true;
      if (output === undefined) {
        const own = placeOf(row);
        const isNamed = message.startsWith(own);
        const ofRow = isNamed ? '' : `${own}: `;
        const place = isRow ? ofRow : isNamed ? `row ${number}, ` : `row ${number} (${own}): `;
        warn(`${place}${message}${charged === 'no' ? '' : ` · charged: ${charged}`}`);
      }
      const values = [line, message, requestId ?? null, charged];
      await output?.write([
        withLast(
          record,
          names.map((name, at) => [name, JSON.stringify(values[at])] as const),
        ),
      ]);
    },
    /** For a list that was worked through: without failed rows, the file has only its header, so that no failure of an earlier list is in it. */
    complete(): void {
      isDue = true;
    },
    /** A stopped list without failed rows leaves an existing file unchanged. A second call returns the outcome of the first. */
    async end(): Promise<void> {
      ended ??= Promise.resolve(isDue ? output?.finish() : output?.cut());
      await ended;
    },
  };
  return errors;
}

/** Pure: the progress: a bar, if the number of rows is known and there is room for it, the speed, and the time that is left. */
export function toProgress(
  { done, failed }: Pick<ListCounts, 'done' | 'failed'>,
  total: number | undefined,
  seconds: number,
  columns = 120,
): string {
  const rate = done / Math.max(seconds, 0.001);
  const facts = failed === 0 ? [] : [`${failed} failed`];
  if (seconds >= 1) facts.push(`${rate < 10 ? rate.toFixed(1) : Math.round(rate)}/s`);
  if (total === undefined) return [`${countOf(done, 'row')} done`, ...facts].join(', ');
  const whole = Math.max(total, done, 1);
  if (seconds >= 1 && rate > 0) facts.push(`${waitedFor(Math.ceil((whole - done) / rate))} left`);
  const text = [`${done} of ${whole}`, ...facts].join(', ');
  const bar = `[${'#'.repeat(Math.round((barWidth * done) / whole)).padEnd(barWidth, '-')}] `;
  // The spinner comes before it.
  return bar.length + text.length <= columns - 4 ? bar + text : text;
}

type Received = ReturnType<typeof createReceived>;

/** Counts the results of a list: `records` are the items of all rows, `lacked` the number of rows without each field. */
export function createReceived({ fields = [], kind }: Pick<ListOf, 'fields' | 'kind'>) {
  return {
    found: 0,
    records: 0,
    lacking: 0,
    lacked: new Map<string, number>(),
    /** For a row with a result. */
    add(answer: JsonText, records: readonly JsonText[]): void {
      const view = new JsonView(answer);
      if (foundIn(kind, answer) > 0) {
        this.found++;
        this.records += records.length;
      }
      const lacks = fields.filter((field) => !isFilled(view.find([['answer', field]])));
      if (lacks.length > 0) this.lacking++;
      for (const field of lacks) this.lacked.set(field, (this.lacked.get(field) ?? 0) + 1);
    },
  };
}

/** Pure: `2 rows lack fields: city (2), headcount (1)`. */
function toLacking({ lacked, lacking }: Received): string {
  const fields = [...lacked].map(([field, rows]) => `${field} (${rows})`);
  const some = fields.length > maxFields ? [...fields.slice(0, maxFields), '…'] : fields;
  return `${countOf(lacking, 'row')} ${plural(lacking, 'lacks', 'lack')} fields: ${some.join(', ')}`;
}

/** Pure: the result of a list. */
export function toSummary(
  list: ListOf,
  { counts, cost, isIdle, isThere, missing, operationId, unseen }: FinishedList,
  received: Received,
  errors: string | undefined,
): Closing {
  const { done, duplicates, earlier, failed, kept, withoutResult } = counts;
  const facts = missing?.details.facts;
  const also = [
    kept > 0 && `${countOf(kept, 'row')} left as ${plural(kept, 'it was', 'they were')}`,
    isThere && `${countOf(done, 'row')} ${plural(done, 'was', 'were')} already in the file`,
    duplicates > 0 && `${countOf(duplicates, 'duplicate row')}, bought once`,
    earlier > 0 && `${earlier} already bought, not charged again`,
    received.lacking > 0 && toLacking(received),
    unseen > 0 &&
      `${countOf(unseen, 'answer')} of rows that are no longer in the input: leadpipe history show ${operationId}`,
    isIdle && 'nothing was left to send',
    errors !== undefined && failed + withoutResult > 0 && `failed rows in ${shellWord(errors)}`,
  ].filter((part) => part !== false);
  return {
    what: toReceivedWords(list, counts, received),
    isOfRows: true,
    ...(isThere ? { place: 'in' as const } : {}),
    kept: facts?.is === 'rows_failed' ? facts.kept : undefined,
    also: also.length === 0 ? undefined : also.join(' · '),
    charged: cost.charged,
    isPaid: true,
    // The error shows the ID, too.
    ids: missing === undefined ? { operationId } : {},
  };
}

/** Pure: `2 emails found, 1 not found, 1 failed`. */
function toReceivedWords(
  { field, kind, sought }: ListOf,
  { done, failed, kept, withoutResult }: ListCounts,
  { found, records }: Received,
): string {
  if (done === 0) return '0 rows';
  const answers = done - failed - withoutResult - kept;
  const receivedWords =
    sought !== undefined
      ? [answers > 0 && `${countOf(found, sought)} found`, answers > found && `${answers - found} not found`]
      : [
          answers > 0 &&
            (kinds[kind].prints === 'list'
              ? `${countOf(records, 'item')} of ${countOf(answers, field)}`
              : countOf(answers, 'answer')),
        ];
  const other = [withoutResult > 0 && `${withoutResult} without a result`, failed > 0 && `${failed} failed`];
  const words = [...receivedWords, ...other].filter((part) => part !== false);
  return words.length === 0 ? countOf(done, 'row') : words.join(', ');
}
