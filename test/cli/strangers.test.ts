import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { journalNaming } from '../helpers/databases.ts';
import { ending, failing } from '../helpers/ending.ts';
import { searchFrames, wholeStream } from '../helpers/fault-server.ts';
import { machineWith } from '../helpers/machine.ts';
import { command, inShell } from '../helpers/run.ts';

/** Folders that another user (the stranger) can write to, with all attacks that the system allows. */

const [owner, stranger, group] = [12345, 54321, 777];
const as = (user: number) => ['setpriv', `--reuid=${user}`, `--regid=${user}`, `--groups=${group}`] as const;
const [setpriv, ...options] = as(owner);
const canBeTwo = spawnSync(setpriv, [...options, process.execPath, command, '--version']).status === 0;

const folders = [
  ['0777', 0o777],
  ['2775', 0o2775],
  ['1777', 0o1777],
] as const;

/** A machine of the owner, in a shared folder. The stranger runs `attack` in sh when the service is asked. */
async function sharedFolder(mode: number, attack: string) {
  const lead = JSON.stringify({ name: 'Ada' });
  let [requests, bought] = [0, 0];
  const at = await machineWith((socket) => {
    requests++;
    act(attack);
    socket.end(wholeStream(searchFrames([[lead]])));
  });
  const home = join(at.cwd, '..');
  const secret = join(home, 'private');
  writeFileSync(secret, 'private', { mode: 0o600 });
  for (const path of [home, secret]) chownSync(path, owner, owner);
  chmodSync(home, 0o755);
  chownSync(at.cwd, 0, group);
  chmodSync(at.cwd, mode);

  /** What the stranger does. The system may refuse parts of it. */
  function act(script: string): void {
    spawnSync('setpriv', [...as(stranger).slice(1), 'sh', '-c', script], { cwd: at.cwd });
  }
  return {
    act,
    requests: () => requests,
    /** A purchase of the owner, another one each time. */
    buy: (line: string) =>
      inShell(`leadpipe search company x${++bought} --limit 1 ${line}`, at, ...as(owner)),
    cwd: at.cwd,
    /** The content and the rights of the owner's private file. */
    secret: () => [readFileSync(secret, 'utf8'), statSync(secret).uid, statSync(secret).mode & 0o777],
  };
}

const untouched = ['private', owner, 0o600];

describe.runIf(canBeTwo)('beside an output, nothing of a stranger is followed, opened or waited for', () => {
  describe.each(folders)('in a folder of mode %s', (_, mode) => {
    it.each([
      ['a link', 'ln -s ../private'],
      ['a FIFO', 'mkfifo'],
      ['a folder', 'mkdir'],
    ])('%s takes the place of the temporary file', async (_, make) => {
      const at = await sharedFolder(mode, `name=$(ls *.part) && mv $name stolen && ${make} $name`);
      for (const line of ['-o leads.csv', '-o more.csv --append', '-o leads.db']) {
        const result = await at.buy(line);
        // In a sticky folder users can't move files of others. In the last two cases the rows are copied from the open file into another one.
        if (mode === 0o1777 || line !== '-o leads.csv') expect(result).toMatchObject({ code: 0 });
        else expect(result).toMatchObject(failing(74, 'was moved or removed while this run was writing it'));
        expect(at.secret()).toEqual(untouched);
        at.act('rm -rf *');
      }
    });

    it.each([
      ['a FIFO', 'mkfifo leads.csv.lock', 'it is a file'],
      ['a link', 'ln -s ../private leads.csv.lock', 'it is a file'],
      [
        'a folder with a link',
        'mkdir leads.csv.lock && ln -s ../../private leads.csv.lock/beat',
        'it is a folder with other files in it',
      ],
    ])('%s at the name of the lock is refused before anything is bought', async (_, plant, says) => {
      const at = await sharedFolder(mode, '');
      at.act(plant);
      const before = readdirSync(at.cwd, { recursive: true });
      expect(await at.buy('-o leads.csv --append')).toMatchObject(failing(74, says, /^charged: no$/m));
      expect([at.requests(), readdirSync(at.cwd, { recursive: true })]).toEqual([0, before]);
      expect(at.secret()).toEqual(untouched);
    });

    it('a link takes the place of the output', async () => {
      const at = await sharedFolder(mode, 'ln -sf ../private leads.csv');
      for (const line of ['-o leads.csv', '-o leads.csv --append']) {
        expect((await at.buy(line)).stderr).not.toContain('Error:');
        expect(at.secret()).toEqual(untouched);
      }
    });

    it('a journal of SQLite that names a private file is left alone', async () => {
      const at = await sharedFolder(mode, '');
      expect(await at.buy('-o leads.db')).toMatchObject({ code: 0 });
      const named = join(at.cwd, '../private');
      for (const name of ['leads.db-journal', 'leads.db.made-journal']) {
        const bytes = journalNaming(named).toString('base64');
        at.act(`echo ${bytes} | base64 -d > ${name}`);
        const inUse = name === 'leads.db-journal';
        const result = await at.buy('-o leads.db --append');
        expect(result).toMatchObject(ending(inUse ? 75 : 0, inUse ? 'by another program' : ''));
        expect(at.secret()).toEqual(untouched);
        at.act(`rm ${name}`);
      }
    });
  });
});
