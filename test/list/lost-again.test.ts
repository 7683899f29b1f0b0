import { expect, it } from 'vitest';
import { contactResult } from '../helpers/bodies.ts';
import { errorAnswer, jsonAnswer } from '../helpers/fault-server.ts';
import { machineWith } from '../helpers/machine.ts';

it.each(['', '--run october'])(
  'a row whose answer was lost again under --retry-unknown can be bought once more: contact email %s',
  async (run) => {
    let lost = 2;
    const seen = new Set<string>();
    const at = await machineWith((socket, { headers }) => {
      const key = headers['idempotency-key'] ?? '';
      if (seen.has(key)) return void socket.write(errorAnswer('409 X', 'request_already_exists', 'no'));
      seen.add(key);
      socket.write(jsonAnswer(lost-- > 0 ? '<paid for>' : contactResult('email', 'x', 'a@b.example')));
    });
    at.write('rows.txt', 'x\n');
    const list = async (more = '') => {
      const { code } = await at.leadpipe(`contact email --input rows.txt -o out.jsonl ${run} ${more}`);
      return { code, keys: seen.size, sent: at.requests.length };
    };
    expect(await list()).toEqual({ code: 3, keys: 1, sent: 1 });
    expect(await list('--retry-unknown')).toEqual({ code: 3, keys: 2, sent: 2 });
    expect(await list()).toEqual({ code: 3, keys: 2, sent: 2 });
    expect(await list('--retry-unknown')).toEqual({ code: 0, keys: 3, sent: 3 });
    expect(at.read('out.jsonl')).toContain('a@b.example');
    expect(await at.history()).toMatchObject([{ state: 'complete' }]);
  },
);
