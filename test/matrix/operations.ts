import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';

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
const enrich = (who: string): Args => ['enrich', who, '--field', 'city=where it is'];
const contact = (who: string): Args => ['contact', 'email', who];
const list = ['extract', 'web2list', 'https://example.com/list', '--instruction'];
const extract = (what: string): Args => [...list, what];

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
  ['contact', 'P', 'contactSearch', 5, contact('Lena Weber'), contact('Kontora 1')],
  ['research', 'P', 'deepSearch', 20, ['research', 'What is Nordlicht Pay?'], ['research', 'Who is Lena?']],
  ['enrich', 'P', 'enrich', 2, enrich('Kontora 1'), enrich('Kontora 2')],
  ['extract', 'X', 'extract', 1, extract('Kontora 1'), extract('Kontora 2')],
  ['search', 'S', 'search', 3, search('fintech'), search('fintech in Berlin')],
];

export const operations = rows.map(([name, group, endpoint, price, args, otherArgs = []]): Operation => {
  const toArgs = typeof args === 'function' ? args : () => args;
  return { name, group, endpoint: endpoints[endpoint], args: toArgs, otherArgs, price };
});
