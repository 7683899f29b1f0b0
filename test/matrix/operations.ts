import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';

/** The columns of the matrix: free reads, create_task, single answers, extract, the stream. */
export type Group = 'G' | 'C' | 'P' | 'X' | 'S';

export interface Operation {
  readonly name: string;
  readonly group: Group;
  readonly endpoint: (typeof endpoints)[EndpointName];
  /** The command; `task` is one that has ended. */
  args(task: string): readonly string[];
  /** The same operation with another body. */
  readonly otherArgs?: readonly string[];
  /** Credits that the local service charges for it. */
  readonly price: number;
}

const limit = ['--limit', '3'];
const list = ['extract', 'web2list', 'https://example.com/list', '--instruction'];

export const operations: readonly Operation[] = [
  { name: 'balance', group: 'G', endpoint: endpoints.balance, args: () => ['balance'], price: 0 },
  {
    name: 'task status',
    group: 'G',
    endpoint: endpoints.status,
    args: (task) => ['task', 'status', task],
    price: 0,
  },
  {
    name: 'task fetch',
    group: 'G',
    endpoint: endpoints.fetch,
    args: (task) => ['task', 'fetch', task],
    price: 0,
  },
  {
    name: 'task create',
    group: 'C',
    endpoint: endpoints.createTask,
    args: () => ['task', 'create', 'company', 'fintech', ...limit],
    otherArgs: ['task', 'create', 'company', 'fintech in Berlin', ...limit],
    price: 3,
  },
  {
    name: 'contact',
    group: 'P',
    endpoint: endpoints.contactSearch,
    args: () => ['contact', 'email', 'Lena Weber'],
    otherArgs: ['contact', 'email', 'Kontora 1'],
    price: 5,
  },
  {
    name: 'research',
    group: 'P',
    endpoint: endpoints.deepSearch,
    args: () => ['research', 'What is Nordlicht Pay?'],
    otherArgs: ['research', 'Who is Lena Weber?'],
    price: 20,
  },
  {
    name: 'enrich',
    group: 'P',
    endpoint: endpoints.enrich,
    args: () => ['enrich', 'Kontora 1', '--field', 'city=where it is'],
    otherArgs: ['enrich', 'Kontora 2', '--field', 'city=where it is'],
    price: 2,
  },
  {
    name: 'extract',
    group: 'X',
    endpoint: endpoints.extract,
    args: () => [...list, 'Kontora 1'],
    otherArgs: [...list, 'Kontora 2'],
    price: 1,
  },
  {
    name: 'search',
    group: 'S',
    endpoint: endpoints.search,
    args: () => ['search', 'company', 'fintech', ...limit],
    otherArgs: ['search', 'company', 'fintech in Berlin', ...limit],
    price: 3,
  },
];
