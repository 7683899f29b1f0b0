import { describe, expect, it } from 'vitest';
import { runAnswered } from '../helpers/answered.ts';
import { jsonAnswer } from '../helpers/fault-server.ts';
import { fileOf } from '../helpers/local-service.ts';
import { machineWith } from '../helpers/machine.ts';
import { writeSettings } from '../helpers/settings.ts';

describe('contact', () => {
  function toBody(result: string): string {
    return `{"object":"contact_search_result","request":{"contact_type":"email","objective":"x"},"result":${result},"created_at":"2026-01-31T09:00:00Z"}`;
  }

  const contact = (result = '', more = '') => runAnswered(toBody(result), `contact email x ${more}`);

  const found = ['{"content":"a@b.example","reference":"https://b.example"}', '{"content":4930123456}'];
  const missing = [
    '{"content":null,"reference":null}',
    '{"content":"","reference":null}',
    '{"content":" \\t\\n\\u00a0","reference":null}',
    '{"content":{},"reference":null}',
    '{"reference":null}',
  ];

  it.each(found)('%s is found', async (result) => {
    expect(await contact(result, '--exit-status')).toMatchObject({
      code: 0,
      stdout: `${toBody(result)}\n`,
      stderr: expect.stringMatching(
        /^email found · charged; price unknown\nTo see .*\nrequest req_test · operation /,
      ),
    });
  });

  it.each(missing)(
    '%s is not found: 0, or 7 with --exit-status, and the record is printed',
    async (result) => {
      expect(await contact(result)).toMatchObject({
        code: 0,
        stdout: `${toBody(result)}\n`,
        stderr: expect.stringMatching(
          /^email not found · may be charged; price unknown\nTo see .*\nrequest req_test/,
        ),
      });
      expect(await contact(result, '--exit-status')).toMatchObject({
        code: 7,
        stdout: `${toBody(result)}\n`,
        // The IDs once.
        stderr: expect.stringMatching(
          /^email not found · may be charged; price unknown\nTo see .*\nrequest \S+ · operation \S+\nerror: no email was found\n$/,
        ),
      });
    },
  );

  it('may be charged, in the history and for a day, where it was not found', async () => {
    const at = await machineWith(jsonAnswer(toBody(missing[0] ?? '')));
    writeSettings(at.env, { 'price.contact.email': 3, max_credits_per_day: 5 });
    expect((await at.leadpipe('contact email x')).code).toBe(0);
    expect(await at.history()).toMatchObject([{ state: 'complete', charged: 'maybe', credits_at_most: 3 }]);
    expect((await at.leadpipe('contact email y')).code).toBe(5);
  });

  it.each([
    [found[0], 'email      a@b.example\nreference  https://b.example\nobjective  x\n'],
    [missing[0], 'email      not found\nreference  –\nobjective  x\n'],
    [missing[2], 'email      not found\nreference  –\nobjective  x\n'],
  ])('a table of %s says what was found', async (result, stdout) => {
    expect((await contact(result, '-f table')).stdout).toBe(stdout);
  });

  it('CSV has the same five columns, found or not', async () => {
    const header = 'contact_type,objective,content,reference,created_at\r\n';
    expect((await contact(found[0], '-f csv')).stdout).toBe(
      `${header}email,x,a@b.example,https://b.example,2026-01-31T09:00:00Z\r\n`,
    );
    expect((await contact(missing[0], '-f csv')).stdout).toBe(`${header}email,x,,,2026-01-31T09:00:00Z\r\n`);
  });

  it('--columns makes a flat object', async () => {
    expect((await contact(found[0], '--columns result.content')).stdout).toBe(
      '{"result.content":"a@b.example"}\n',
    );
  });

  it('sends 4000 astral characters, from a file, trimmed', async () => {
    const objective = '🦊'.repeat(4000);
    const file = fileOf('objective.txt', `\ufeff${objective}\n`);
    const sent = { contact_type: 'phone', objective };
    const result = await runAnswered(toBody('{"content":null}'), `contact phone @${file}`);
    expect(result).toMatchObject({ code: 0, sent });
  });
});
