import { createRequire } from 'node:module';
import { cellWidth } from '../../src/output/text-width.ts';

// As the build does: what cli-table3 brings itself counts other columns than we do.
const require = createRequire(createRequire(import.meta.url).resolve('cli-table3'));
const path = require.resolve('string-width');
require(path);
const module = require.cache[path];
if (module !== undefined) module.exports = cellWidth;
