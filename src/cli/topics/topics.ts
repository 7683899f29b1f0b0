import type { HelpList } from '../help.ts';

/** What `help` tells beside the commands. */
export interface Topic {
  /** A text is a paragraph, filled to the width; lines are left as they are. */
  readonly parts: readonly (string | HelpList | { readonly lines: readonly string[] })[];
}

interface TopicRow {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Topic>;
}

/** Every topic, in the order of the help. Only the one that is asked for is loaded. */
export const topicRows: readonly TopicRow[] = [
  {
    name: 'environment',
    summary: 'variables and files that leadpipe reads, and which one is used',
    load: async () => (await import('./environment.ts')).environmentTopic,
  },
  {
    name: 'exit-codes',
    summary: 'how a command can end, and what to do then',
    load: async () => (await import('./exit-status.ts')).exitStatusTopic,
  },
  {
    name: 'formats',
    summary: 'table, JSONL, CSV …; JSONL and --json-errors for programs',
    load: async () => (await import('./formats.ts')).formatsTopic,
  },
  {
    name: 'money',
    summary: 'what costs credits, and how not to pay too much, or twice',
    load: async () => (await import('./money.ts')).moneyTopic,
  },
  {
    name: 'options',
    summary: 'the options that several commands take',
    load: async () => (await import('./options.ts')).optionsTopic,
  },
];
