'use strict';
// In the form that cli-table3, which is CommonJS, requires it.
module.exports = require('../src/output/text-width.ts').cellWidth;
