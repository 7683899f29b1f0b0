import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { answerKinds } from '../helpers/answer-kinds.ts';
import { toWords } from '../helpers/words.ts';

/** The columns of the matrix: free reads, create_task, single answers, extract, the stream. */
export type Group = 'G' | 'C' | 'P' | 'X' | 'S';

export interface Operation {
  readonly name: string;
  readonly group: Group;
  readonly endpoint: (typeof endpoints)[EndpointName];
  /** The command; `task` is one that has ended. */
  readonly args: (task: string) => readonly string[];
  /** The same operation with another body. */
  readonly otherArgs: readonly string[];
  /** Credits that the local service charges for it. */
  readonly price: number;
}

type Args = readonly string[];

const create = (objective: string): Args => ['task', 'create', 'company', objective, '--limit', '3'];
const search = (objective: string): Args => ['search', 'company', objective, '--limit', '3'];

/** The command of a free one is made with the task; of a paid one there are two, with different bodies. */
const rows: readonly [
  name: string,
  group: Group,
  endpoint: EndpointName,
  price: number,
  args: Args | ((task: string) => Args),
  otherArgs?: Args,
][] = [
  ['balance', 'G', 'balance', 0, ['balance']],
  ['task status', 'G', 'status', 0, (task) => ['task', 'status', task]],
  ['task fetch', 'G', 'fetch', 0, (task) => ['task', 'fetch', task]],
  ['task create', 'C', 'createTask', 3, create('fintech'), create('fintech in Berlin')],
  ['search', 'S', 'search', 3, search('fintech'), search('fintech in Berlin')],
];

const others = rows.map(([name, group, endpoint, price, args, otherArgs = []]): Operation => {
  const toArgs = typeof args === 'function' ? args : () => args;
  return { name, group, endpoint: endpoints[endpoint], args: toArgs, otherArgs, price };
});

const answers = Object.entries(answerKinds).map(([name, row]): Operation => {
  const { line, otherLine, path, credits, mayReplay } = row;
  const endpoint = Object.values(endpoints).find((one) => one.path === path);
  if (endpoint === undefined) throw new Error(`the contract has no ${path}`);
  const [args, otherArgs] = [toWords(line), toWords(otherLine)];
  return { name, group: mayReplay ? 'X' : 'P', endpoint, args: () => args, otherArgs, price: credits };
});

export const operations = [...others, ...answers];
