/** string-width as cli-table3 asks for it: a function, of the version that leadpipe measures with. */
module.exports = require('../node_modules/string-width/index.js').default;
