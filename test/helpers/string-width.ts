import { createRequire } from 'node:module';
import stringWidth from 'string-width';

/** cli-table3 measures with the version that leadpipe measures with, as in the bundle. */
const { cache, resolve } = createRequire(createRequire(import.meta.url).resolve('cli-table3'));
Object.assign(cache, { [resolve('string-width')]: { exports: stringWidth, loaded: true } });
