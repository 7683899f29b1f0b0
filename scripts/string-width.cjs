'use strict';
// CommonJS, since cli-table3 requires it.
module.exports = require('../src/output/text-width.ts').cellWidth;
