/** A request with Node's own client. */
import { get } from 'node:http';

get(process.argv[2], (answer) => answer.pipe(process.stdout));
