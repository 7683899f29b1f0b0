import { LeadpipeError } from '../../errors.ts';
import { memberLayout } from '../../output/columns.ts';
import type { Layout, Tone } from '../../output/layout.ts';
import { memberColumn } from '../../output/table-columns.ts';
import { defineCommand } from '../command.ts';
import { checkAll, type Finding } from '../doctor-checks.ts';
import { freeOutcomes } from '../exit-codes.ts';
import { createNotes, type Notes } from '../messages/status-line.ts';
import type { ConnectionOptions, RecordOptions } from '../options/options.ts';
import { withOutput } from '../records/record-output.ts';

const members: readonly (keyof Finding)[] = ['check', 'result', 'found', 'fix'];

const tones: Readonly<Record<string, Tone>> = { ok: 'green', warning: 'yellow', failure: 'red' };

/** For people. What to do about it is said below the table, in lines that can be copied. */
const doctorLayout: Layout = {
  ...memberLayout(members),
  table: [
    memberColumn('check', { min: 16, max: 16, role: 'title' }),
    memberColumn('result', { min: 7, max: 7, role: 'detail', tone: (result) => tones[result] }),
    { ...memberColumn('found', { min: 20, max: Number.POSITIVE_INFINITY, role: 'body' }), lines: 20 },
  ],
};

export const createCommand = defineCommand({
  name: 'doctor',
  description:
    'Checks this machine, the settings, the connection to the service, and the key, and says how to repair what is wrong. It costs nothing. The exit code is 0 when the next search would work. Otherwise it is the exit code of that search.',
  takes: ['records', 'connection'],
  examples: ['leadpipe doctor', 'leadpipe doctor --local -f json'],
  output: [
    'one object for each check; result is ok, warning, failure or skipped:',
    '{"check":"clock","result":"warning",',
    ' "found":"340 s ahead of the service","fix":"…"}',
  ],
  outcomes: [...freeOutcomes, 'credits'],
  async run(context, options: ConnectionOptions & RecordOptions) {
    const findings: Finding[] = [];
    const notes = createNotes(context, options);
    /** What would stand between two rows of the table. */
    const held: string[] = [];
    await withOutput(
      context,
      options,
      { shape: 'list', layout: doctorLayout, settings: {} },
      async (output) => {
        for await (const finding of checkAll(context, options, (line) => held.push(line))) {
          findings.push(finding);
          const { outcome: _, ...record } = finding;
          await output.write([JSON.stringify(record)]);
        }
      },
    );
    for (const line of held) notes.say(line);
    report(notes, findings);
  },
});

/** How to repair what is wrong, and how the next search would end. What was found stands in the rows. Throws the first failure. */
function report(notes: Notes, findings: readonly Finding[]): void {
  const failures = findings.filter(({ result }) => result === 'failure');
  const [first] = failures;
  for (const finding of findings) {
    // The first failure's is said by the error.
    if (finding.fix && finding !== first) notes.say(`${finding.check}: ${finding.fix}`);
  }
  if (first === undefined) {
    notes.say('The next search would work.');
    return;
  }
  throw new LeadpipeError(
    first.outcome ?? 'configuration',
    `the next search would fail: see ${failures.map(({ check }) => check).join(', ')} above`,
    { type: 'unhealthy', ...(first.fix ? { hint: first.fix } : {}) },
  );
}
