import { localKeys } from '../local-service/keys.ts';
import { switchTable } from '../local-service/switches.ts';
import { keptDays } from '../operations/journal/retention.ts';
import { isPaid, kinds } from '../operations/kinds/kinds.ts';
import { type Format, formats } from '../output/writer.ts';
import { exitCodes } from './exit-codes.ts';
import { groups, type Topic, type TopicName } from './help.ts';
import { toOptionText } from './options/facts.ts';
import { createRowsOptions } from './options/rows-options.ts';
import { sharedOptions } from './options/shared-options.ts';
import { readingOptions, waitingOptions } from './options/task-options.ts';
import { charges, summaryMembers, textOrNull } from './summary.ts';

/** The members that `--json-errors` prints under `error`; messages/report.ts makes it. */
const members = {
  type: { type: 'string' },
  status: { type: ['integer', 'null'], description: 'HTTP status' },
  message: { type: 'string', description: 'what happened' },
  exit: { enum: Object.values(exitCodes).map(({ code }) => code) },
  request_id: textOrNull,
  operation_id: textOrNull,
  idempotency_key: textOrNull,
  charged: { enum: [...charges, null] },
  retryable: { type: 'boolean', description: 'safe to run again' },
  hint: { ...textOrNull, description: 'what to do' },
};

const meanings: Readonly<Record<Format, string>> = {
  table: 'for people: as wide as the terminal',
  cards: 'for people: a few lines per record (default below 70 columns)',
  jsonl: 'for programs: one JSON object per line, as the service sent it',
  json: 'one JSON array, or one object for a single answer',
  csv: 'for spreadsheets: the same columns every day; formulas are made harmless',
  md: 'Markdown: a table, or a text with its sources',
  xlsx: 'for Excel, into a file only: IDs and phone numbers stay text',
  sqlite: 'a database (.db, .sqlite), into a file only: a table for each kind of record',
};

const shared = [
  ...createRowsOptions('the name of the field'),
  ...waitingOptions,
  ...readingOptions,
  ...sharedOptions.records,
  ...sharedOptions.paid,
  ...sharedOptions.connection,
];

export const topicTexts: Readonly<Record<TopicName, Topic>> = {
  environment: [
    'If a value is given in several places, the option comes first, then the variable, then the setting of the profile, then the built-in default. `leadpipe config list` shows which value is used, and where it comes from. Nothing is read from the current directory.',
    {
      heading: 'Variables of leadpipe',
      rows: [
        ['LEADPIPE_API_KEY', 'the API key; it is used instead of a stored one'],
        ['LEADPIPE_BASE_URL', 'the address of the service (option --base-url)'],
        ['LEADPIPE_PROFILE', 'the profile to use (option --profile)'],
        ['LEADPIPE_CREDENTIAL_STORE', 'where `auth login` stores keys: keychain or file'],
        ['LEADPIPE_CONFIG_DIR', 'the folder of the settings, and of keys stored in a file'],
        ['LEADPIPE_STATE_DIR', 'the folder of the history: purchases, answers, leads, lists'],
      ],
    },
    {
      heading: 'Variables that other programs use too',
      rows: [
        ['NO_COLOR', 'if set, no colours'],
        ['FORCE_COLOR', 'if set, tables and messages are coloured in files and pipes too'],
        ['COLUMNS', 'the width of tables when the output is not a terminal'],
        ['TZ', 'the time zone of the times that are shown, such as Europe/Berlin'],
        [
          'HTTPS_PROXY, ALL_PROXY, HTTP_PROXY',
          'the proxy: the first of these that is set (lower case works too)',
        ],
        ['NO_PROXY', 'hosts that are reached without the proxy'],
        ['NODE_EXTRA_CA_CERTS', 'a PEM file with certificates of your own authority'],
        ['JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID', 'the number of this job, for --shard auto'],
      ],
    },
    {
      heading: 'Files, on Linux (elsewhere: see leadpipe doctor)',
      rows: [
        ['~/.config/leadpipe/config.json', 'settings of each profile; no keys'],
        [
          '~/.config/leadpipe/credentials.json',
          'where each key is stored, and the keys if there is no keychain',
        ],
        ['~/.local/state/leadpipe/', 'the history; answers and leads are stored there'],
        ['~/.cache/leadpipe/', 'compiled code (Node 22.8 and newer); it can be removed'],
      ],
    },
    'Only you can read these files and folders (0600 and 0700).',
  ],
  'exit-codes': [
    'Every command ends with one of these numbers. A script sees it in $?, a program in the member `exit` of --json-errors.',
    {
      heading: 'Exit codes',
      rows: Object.values(exitCodes).map(({ code, meaning }) => [String(code).padStart(3), meaning]),
    },
    'In a script: 0 is done. After 75, run the command that the message names; if it names none, run the same command later. After 3, run the command that the message names: it gets the rest. 7 means that there is no result; it may have been charged. After 8, look at `leadpipe history list` and `leadpipe balance` first. The others need a person to look.',
  ],
  formats: [
    'The first of these decides the format: -f, the extension of the file of -o, the setting `format`. Without them, it is a table on a terminal and jsonl everywhere else.',
    { heading: 'Formats', rows: formats.map((format) => [format, meanings[format]]) },
    '--columns chooses columns by the names that a table or CSV shows, or by a path such as links.website. Company=name gives a column another header; put quotes around a name with a comma. For people, first_name and last_name are columns too. -o writes a temporary file (<file>.<six letters>.part), and renames it to <file> at the end; --append adds rows to a file. Times that leadpipe writes itself are local on a terminal, and ISO 8601 with the offset from UTC in files and pipes.',
    {
      heading: 'For programs',
      rows: [
        ['stdout', 'data only, in UTF-8. JSONL: each line is one whole JSON object, and ends with \\n.'],
        [
          'numbers',
          'as the service wrote them. IDs can be above 2^53: read them as text or as big integers.',
        ],
        ['fields', 'the service can send new ones; ignore what you do not know.'],
        [
          'stderr',
          'for people. With --json-errors (and without -v) it is empty, or one line: the error object below.',
        ],
        ['exit code', 'is also in the error; see leadpipe help exit-codes.'],
        [
          'commands',
          'leadpipe help --json [command]: arguments, options, exit codes, columns and cost; --json-schema prints its schema.',
        ],
        ['stdin', 'no command asks a question when stdin is not a terminal.'],
      ],
    },
    'The JSON Schema of the error object; the first line below stores it in a file:',
    { lines: ["leadpipe help formats | sed -n '/^  {/,/^  }/p;/^  }/q' > error.schema.json"] },
    { lines: errorSchemaLines() },
    '--summary <file> writes one object when the command ends, however it ends: done, refused, stopped by a signal, or with an error in the middle. Every member is always present, and null if it does not apply. `charged` is about this run, `credits_at_most` about all runs of its operation. `output` is the file of -o, also of the run that is resumed. `resume` is null if nothing is left to buy, or if the rows come from standard input; rows that may have been charged already are bought again only with --retry-unknown. `excluded` counts leads that arrived and were left out here, since they were delivered before; those that the service itself left out are not known. The file appears whole; a command line with unknown or missing words writes none. Its JSON Schema; the first line stores it in a file:',
    { lines: ["leadpipe help formats | sed '1,/^  }/d' | sed -n '/^  {/,$p' > summary.json"] },
    { lines: summarySchemaLines() },
  ],
  'local-service': [
    'The local service of --local and `leadpipe serve` has the interface of the real service. Its switches change what the interface leaves open, and prices, speed and limits: leadpipe serve --set price_search=2 --set batch_size=5',
    {
      heading: 'Switches and their defaults',
      rows: Object.entries(switchTable).map(([name, row]) => [
        `${name}=${row.default}`,
        'values' in row ? `${row.meaning} (${row.values.join(', ')})` : row.meaning,
      ]),
    },
    {
      heading: 'API keys that it accepts or refuses',
      rows: localKeys.map(({ key, description }) => [key, description]),
    },
  ],
  money: [
    `These commands cost credits: ${Object.keys(kinds).filter(isPaid).join(', ')}. resume buys the rest of a purchase, and agents buy with mcp. All other commands are free. With --local, everything is free.`,
    {
      heading: 'Before you buy',
      rows: [
        ['leadpipe balance', 'the credits that you have; with --require 50, exit code 5 if there are fewer'],
        [
          '--dry-run',
          'shows what would be sent now (the rest, if an unfinished run is resumed), what it costs at most and your balance; buys nothing',
        ],
        [
          '--max-credits 20',
          'stops a command that could cost more than 20, or more than you have, before it starts (exit code 5)',
        ],
        [
          'leadpipe config set max_credits 20',
          '--max-credits 20 for every run; max_credits_per_day limits all runs of a day together',
        ],
        ['--limit 10', 'at most 10 leads: a plain search costs at most one credit per lead'],
        ['--only-new', 'leaves out leads that earlier runs on this machine delivered'],
      ],
    },
    'The service does not show its other prices. Set yours, so that leadpipe knows the most that something can cost: leadpipe config set price.contact.email=5 price.contact.phone=10. `leadpipe config --help` lists these settings (price.*).',
    `Nothing is bought twice by accident. Each purchase has an idempotency key, and the service charges such a key only once; when leadpipe tries again, it uses the same one. Answers and leads are stored before they are printed, and stay for ${keptDays.answers} days; the record of a purchase stays for ${keptDays.operations} days, and what it cost for ${keptDays.costs}. (--no-history stores only what it cost.) After a crash, run \`leadpipe resume\`: it buys only the rest. With -o or --run you can also run the same command again. Without them, or if the command has finished, you pay for everything again: a terminal asks first (--yes answers), a script gets one line.`,
    {
      heading: 'After you bought',
      rows: [
        ['leadpipe history list', 'what you bought, when, and whether it was charged'],
        ['leadpipe history show <id>', 'prints an answer again, for free'],
        ['leadpipe history totals', 'adds it up: --by day, month, command, list or profile'],
      ],
    },
    {
      heading: 'What an error says about money',
      rows: [
        ['charged: no', 'it cost nothing'],
        ['charged: yes', 'it was charged; what arrived is stored'],
        ['charged: maybe', 'leadpipe can not know: check `leadpipe balance` before you buy it again'],
      ],
    },
  ],
  options: [
    'Several commands take these options. They can stand before or after the command. The help of a command explains the most common ones, and names the others that it takes.',
    ...Object.values(groups).map((group) => ({
      heading: group.replace(/:$/, ''),
      rows: shared
        .filter(({ helpGroupHeading }) => helpGroupHeading === group)
        .map((option) => [option.flags, toOptionText(option)] as const),
    })),
  ],
};

/** Pure: the JSON Schema of an object with all of these members, in lines of at most 78 characters, without its last brace. */
function schemaLines(of: Readonly<Record<string, object>>): string[] {
  const names = Object.keys(of).map((name) => JSON.stringify(name));
  const rows = Object.entries(of).map(([name, schema]) => `"${name}": ${JSON.stringify(schema)}`);
  const required: string[] = [];
  for (let at = 0; at < names.length; at += 5) required.push(names.slice(at, at + 5).join(', '));
  return [
    '  "type": "object",',
    `  "required": [${required.join(',\n   ')}],`,
    '  "properties": {',
    ...rows.map((row, at) => `   ${row}${at < rows.length - 1 ? ',' : ''}`),
  ].flatMap((line) => line.split('\n'));
}

/** Pure: the JSON Schema of what `--json-errors` prints. */
function errorSchemaLines(): string[] {
  return [
    '{',
    ' "$schema": "https://json-schema.org/draft/2020-12/schema",',
    ' "type": "object", "required": ["error"],',
    ' "properties": {"error": {',
    ...schemaLines(members),
    '  }}}',
    '}',
  ];
}

/** Pure: the JSON Schema of what `--summary` writes. */
function summarySchemaLines(): string[] {
  return [
    '{',
    ' "$schema": "https://json-schema.org/draft/2020-12/schema",',
    ...schemaLines(summaryMembers),
    '  }',
    '}',
  ];
}
