import { Option } from 'commander';
import { defaults, toPollTimes } from '../../config/defaults.ts';
import type { Settings } from '../../config/settings.ts';
import { limits } from '../../contract/limits.ts';
import type { ReadTerms } from '../../operations/order.ts';
import { groups } from '../help.ts';
import { numberIn, option, seconds, under } from './option-builders.ts';
import type { RecordOptions } from './record-options.ts';
import { leadColumns, leadShape } from './search-options.ts';
import { type ConnectionOptions, exitStatusOption } from './shared-options.ts';

export interface ReadOptions extends ConnectionOptions, RecordOptions {
  readonly num?: number;
  readonly positions?: true;
  readonly exitStatus?: true;
}

export interface FollowOptions extends ReadOptions {
  readonly pollInterval?: number;
  readonly waitTimeout?: number;
}

export interface PositionOptions {
  readonly pts: number;
}

const pageSize = limits.fetchNum.max;

export const positionOptions = [
  option('--pts <n>', 'start at this position; 0 is the first lead', numberIn(limits.fetchPts)).default(
    limits.fetchPts.default,
    '0',
  ),
];

export const readingOptions = [
  ...under(groups.task, [
    option('--num <n>', `leads per request, 1 to ${pageSize}`, numberIn(limits.fetchNum), {
      default: pageSize,
    }),
    new Option('--positions', 'put leads_search_id and position in front of each record (only jsonl)'),
  ]),
  exitStatusOption,
];

export const waitingOptions = under(groups.task, [
  option(
    '--poll-interval <seconds>',
    `seconds between two checks of the task; up to ${defaults['poll.max']} while nothing changes`,
    seconds,
    { default: defaults['poll.interval'], settings: ['poll.interval'] },
  ),
  option(
    '--wait-timeout <seconds>',
    'stop waiting after this time, with exit code 75; the task keeps running',
    seconds,
  ),
]);

/** The output as the helps of `task fetch` and `task wait` describe it. */
export const readingShape = [
  'one lead on each line (jsonl), as the service sent it, sorted by position:',
  ...leadShape,
];

/** Their columns: enrich fields are only known after the first page. */
export const readingColumns = {
  ...leadColumns,
  moreColumns: 'then <field>, <field>_reference for each enrich field of the first page',
} as const;

/** Pure: from the option, else the profile, else the default of the reference workflow. */
export function toReadTerms(
  { pollInterval, waitTimeout, num = pageSize, positions }: FollowOptions,
  settings: Settings,
): ReadTerms {
  return {
    num,
    positions: positions === true,
    poll: toPollTimes(pollInterval === undefined ? settings : { ...settings, 'poll.interval': pollInterval }),
    timeoutMs: waitTimeout === undefined ? undefined : waitTimeout * 1000,
  };
}
