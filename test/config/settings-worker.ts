import { createClock } from '../../src/clock.ts';
import { changeSettings } from '../../src/config/settings.ts';

/** Writes a number of settings in a number of profiles, one after the other. */
const [, , config = '', name = '', count = '0'] = process.argv;
const context = {
  directories: { config, state: '' },
  pid: process.pid,
  random: Math.random,
  clock: createClock(),
};
for (let index = 0; index < Number(count); index++) {
  await changeSettings(context, `${name}-${index}`, { 'poll.max': index + 1 });
}
