import { formats } from '../../output/writer.ts';
import { errorSchemaLines } from '../messages/error-schema.ts';
import type { Topic } from './topics.ts';

const meanings: Readonly<Record<string, string>> = {
  table: 'for people: as wide as the terminal; cards when that is narrow',
  cards: 'for people: a few lines per record, at any width',
  jsonl: 'for programs: one JSON object per line, as the service sent it',
  json: 'one JSON array, or one object for a single answer',
  csv: 'for spreadsheets: the same columns every day; formulas are made harmless',
  md: 'Markdown: a table, or a text with its sources',
  xlsx: 'for Excel, into a file only: IDs and phone numbers stay text',
};

export const formatsTopic: Topic = {
  parts: [
    'The first of these decides the format: -f, the extension of the file of -o, the setting `format`. Without them, it is a table on a terminal and jsonl everywhere else.',
    { heading: 'Formats', rows: formats.map((format) => [format, meanings[format] ?? '']) },
    '--columns chooses columns by their path, such as name,links.website. -o writes <file>.part first, and renames it to <file> when everything is there; --append adds rows to a file. Times that leadpipe writes itself are local on a terminal, and ISO 8601 with the offset from UTC in files and pipes.',
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
        ['stdin', 'no command asks a question when stdin is not a terminal.'],
      ],
    },
    'The JSON Schema of the error object; the first line below stores it in a file:',
    { lines: ["leadpipe help formats | sed -n '/^  {/,$p' > error.schema.json"] },
    { lines: errorSchemaLines() },
  ],
};
