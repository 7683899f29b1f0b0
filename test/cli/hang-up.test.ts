import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createMachine } from '../helpers/machine.ts';
import { openTerminal } from '../helpers/pty.ts';
import { createGate, startRowService } from '../helpers/row-service.ts';
import { command, until } from '../helpers/run.ts';
import { toWords } from '../helpers/words.ts';

// Node takes the signal back that `nohup` had switched off.
it.each(['', "trap '' HUP; "])(
  '%sa list whose terminal is closed keeps the answers that are under way',
  async (before) => {
    const { gate, open } = createGate();
    const service = await startRowService({ gate });
    const { cwd, env, files, history, pathOf, read, write, run } = createMachine(service.url);
    write('in.csv', 'objective\nAda\nGrace\nAlan\nJoan\nMary\nKen\n');
    const list = 'contact email --input in.csv -o out.csv --concurrency 2';
    // The shell that leads the session is told of its end: it passes that on, and waits.
    const words = [process.execPath, command, ...toWords(list)];
    const end = 'trap "kill -HUP $!; >told" HUP; wait; wait $!; echo $? >code.part; mv code.part code';
    const script = `(${before}exec "$0" "$@") & ${end}`;
    const terminal = openTerminal(['sh', '-c', script, ...words], { cwd, env });
    await until(() => service.requests() === 2);
    terminal.hangUp();
    await until(() => existsSync(pathOf('told')));
    open();
    await until(() => existsSync(pathOf('code')));
    expect(read('code')).toBe('129\n');
    // Node tells of a signal after the answers that came with it, which two more requests may follow. No answer is lost.
    const sent = service.requests();
    expect(sent).toBeLessThanOrEqual(4);
    expect(readFileSync(pathOf('out.csv.part'), 'utf8').match(/@example.com/g)).toHaveLength(sent);
    expect(await history('list')).toMatchObject([{ state: 'interrupted' }]);
    expect((await run(list)).code).toBe(0);
    expect(service.charged.size).toBe(6);
    expect(files()).toEqual(['code', 'in.csv', 'out.csv', 'told']);
  },
);
