import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import { type FaultServer, startFaultServer, wholeAnswer } from '../helpers/fault-server.ts';
import { pointedAt, temporaryFolder } from '../helpers/run.ts';

describe('contact', () => {
  let server: FaultServer | undefined;

  function toBody(result: string): string {
    return `{"object":"contact_search_result","request":{"contact_type":"email","objective":"x"},"result":${result},"created_at":"2026-01-31T09:00:00Z"}`;
  }

  async function contact(result: string, ...args: string[]) {
    const answer = wholeAnswer('200 OK', 'application/json', toBody(result), ['X-Request-Id: req_test']);
    server = await startFaultServer((socket) => void socket.end(answer));
    return await runInProcess(['contact', 'email', 'x', ...args], { env: pointedAt(server.url) });
  }

  const found = ['{"content":"a@b.example","reference":"https://b.example"}', '{"content":4930123456}'];
  const missing = [
    '{"content":null,"reference":null}',
    '{"content":"","reference":null}',
    '{"content":" \\t\\n\\u00a0","reference":null}',
    '{"reference":null}',
  ];

  it.each(found)('%s is found', async (result) => {
    expect(await contact(result, '--exit-status')).toMatchObject({
      code: 0,
      stdout: `${toBody(result)}\n`,
      stderr: expect.stringMatching(/^email found\nrequest req_test · operation /),
    });
  });

  it.each(missing)(
    '%s is not found: 0, or 7 with --exit-status, and the record is printed',
    async (result) => {
      expect(await contact(result)).toMatchObject({
        code: 0,
        stdout: `${toBody(result)}\n`,
        stderr: expect.stringMatching(/^email not found\nrequest req_test/),
      });
      await server?.close();
      expect(await contact(result, '--exit-status')).toMatchObject({
        code: 7,
        stdout: `${toBody(result)}\n`,
        // The IDs once.
        stderr: expect.stringMatching(
          /^email not found\nrequest \S+ · operation \S+\nerror: no email was found\n$/,
        ),
      });
    },
  );

  it.each([
    [found[0], 'email      a@b.example\nreference  https://b.example\nobjective  x\n'],
    [missing[0], 'email      not found\nreference  –\nobjective  x\n'],
    [missing[2], 'email      not found\nreference  –\nobjective  x\n'],
  ])('a table of %s says what was found', async (result = '', stdout) => {
    expect((await contact(result, '-f', 'table')).stdout).toBe(stdout);
  });

  it('CSV has the same five columns, found or not', async () => {
    const header = 'contact_type,objective,content,reference,created_at\r\n';
    expect((await contact(found[0] as string, '-f', 'csv')).stdout).toBe(
      `${header}email,x,a@b.example,https://b.example,2026-01-31T09:00:00Z\r\n`,
    );
    await server?.close();
    expect((await contact(missing[0] as string, '-f', 'csv')).stdout).toBe(
      `${header}email,x,,,2026-01-31T09:00:00Z\r\n`,
    );
  });

  it('--columns makes a flat object', async () => {
    expect((await contact(found[0] as string, '--columns', 'result.content')).stdout).toBe(
      '{"result.content":"a@b.example"}\n',
    );
  });

  it('sends 4000 astral characters, from a file, trimmed', async () => {
    const file = join(temporaryFolder(), 'objective.txt');
    writeFileSync(file, `\ufeff${'🦊'.repeat(4000)}\n`);
    const answer = wholeAnswer('200 OK', 'application/json', toBody('{"content":null}'));
    server = await startFaultServer((socket) => void socket.end(answer));
    const { code } = await runInProcess(['contact', 'phone', `@${file}`], { env: pointedAt(server.url) });
    expect(code).toBe(0);
    expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual({
      contact_type: 'phone',
      objective: '🦊'.repeat(4000),
    });
  });
});
