import { describe, expect, it } from 'vitest';
import { answerKinds, toOwners } from '../helpers/answer-kinds.ts';
import { creditBalance } from '../helpers/bodies.ts';
import { ending, failing } from '../helpers/ending.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { errorAnswer, jsonAnswer } from '../helpers/fault-server.ts';
import { createMachine, machineWith } from '../helpers/machine.ts';
import { pointedAt } from '../helpers/run.ts';
import { commandLines } from './command-lines.ts';

const types = 'It must be one of: person, company, twitter_creator';
const quotes = 'a text of several words needs quotes';
const chat = 'has changed the quotes or hyphens of this command\\nYou probably meant:';
const nothing =
  'exit 6 | there is no operation nope on this machine\\n | No purchases recorded on this machine yet. Those with --no-history are not listed.';

/** What a newcomer types, what is wrong with it, and the command that was meant. */
const mistakes = String.raw`
  search "fintech in Berlin" => the entity type is missing | ${types} | leadpipe search company "fintech in Berlin"
  search "founders and other people" --limit 5 -o x.csv => leadpipe search person "founders and other people" --limit 5 -o x.csv
  search fintech => the entity type is missing | leadpipe search company fintech
  search => the entity type is missing | ${types} | For example: leadpipe search company
  search company => the objective is missing | For example: leadpipe search company
  search company dentists in Austin --local => ${quotes} | leadpipe search company "dentists in Austin" --local
  search dentists in Austin => the entity type is missing | leadpipe search company "dentists in Austin"
  search company "it's $5" off => ${quotes} | leadpipe search company 'it'\''s $5 off'
  search company x --enrich-fields a, b => ${quotes} | a list without spaces
  search company "-5 employees" --limit 5 => unknown option "-5 employees"\n | comes last, with -- before it: … -- "-5 employees"\n
  search company x --no-color=1 => --no-color takes no value
  task run "founders in Lisbon" => the entity type is missing | leadpipe task run company "founders
  task run person a b => ${quotes} | leadpipe task run person "a b"
  task create => the entity type is missing | wechat | For example: leadpipe task create company
  contact "CTO of Acme" => the contact type is missing | leadpipe contact email "CTO of Acme"
  contact email CTO of Acme => ${quotes} | leadpipe contact email "CTO of Acme"
  research what is x => ${quotes} | leadpipe research "what is x"
  enrich Acme GmbH --field city => ${quotes} | leadpipe enrich "Acme GmbH" --field city
  extract acme/rocket => the type is missing | leadpipe extract github_repo_stargazers acme/rocket
  extract https://a.example/list => the type is missing | leadpipe extract web2list https://a.example/list
  extract ada => the type is missing | leadpipe extract x_followers ada
  search people x => did you mean person?
  search companies x => did you mean company?
  search youtube x => did you mean youtube_creator?
  search shop x => did you mean shopify_store?
  search company x -f ndjson => unknown format "ndjson": did you mean jsonl?
  search company x -f excel => unknown format "excel": did you mean xlsx?
  search company x -f markdown => unknown format "markdown": did you mean md?
  login x => did you mean leadpipe auth login?
  whoami x => did you mean leadpipe auth status?
  spent => did you mean leadpipe history totals?
  costs => did you mean leadpipe history totals?
  ls x => did you mean leadpipe history?
  credits x => did you mean leadpipe balance?
  find x => did you mean leadpipe search?
  upgrade x => did you mean npm install --global leadpipe@latest?
  people x => did you mean leadpipe search person?
  companies x => did you mean leadpipe search company?
  youtube x => did you mean leadpipe search youtube_creator?
  task wait => the leads_search_id is missing\n | leadpipe task list | lists them.\n
  history show => exit 6 | there is no operation on this machine\n | No purchases recorded on this machine yet.
  search company x --api-key=sk_1 => unknown option "--api-key"\n | leadpipe auth login | LEADPIPE_API_KEY
  search company x --limt=3 => unknown option "--limt"\n | --limit
  auth login sk_1 => too many arguments | < key.txt
  -q => the command is missing\n | One of: search, task,
  search company x -n 5 => unknown option "-n"\n | Did you mean --limit?
  search company x -l 5 => unknown option "-l"\n | Did you mean --limit?
  search company x --input f.csv => unknown option "--input"\n | ${toOwners(Object.keys(answerKinds))}
  balance --limti 5 => unknown option "--limti"\n
  version => did you mean leadpipe --version?
  export a.csv => did you mean leadpipe history show -o leads.csv?
  prices => did you mean leadpipe help money?
  signup => did you mean leadpipe auth login?
  hilfe => did you mean leadpipe help?
  search company x --excel => unknown option "--excel"\n | Did you mean --output leads.xlsx?
  search company x --xlsx => Did you mean --output leads.xlsx?
  search company x --markdown => Did you mean --format md?
  search company x --save a.csv => Did you mean --output?
  search company x --max-price 5 => Did you mean --max-credits?
  enrich x --enrich-fields a,b => unknown option "--enrich-fields"\n | Did you mean --field?
  search company x --field a => unknown option "--field"\n | Did you mean --enrich-fields?
  search company x --country US => unknown option "--country"\n | To see the options: leadpipe search --help\n
  task run company x --country US => To see the options: leadpipe task run --help\n
  search company x -o => the value of -o, --output <file> is missing\n
  config set format => the value is missing\n | For example: leadpipe config set timeout.idle 60\n
  config format csv => did you mean leadpipe config set format csv?
  status => did you mean leadpipe task status?
  search company x --append -o leads.xlsx => --append works only with csv, jsonl and sqlite files, not with xlsx\nName a .csv, .jsonl or .db file
  search company x --append -o leads.xlsx -f csv => --append works only with csv, jsonl and sqlite files, not with xlsx\nName a .csv, .jsonl or .db file
  search company x --append -o leads.db -f csv => rows of csv can't be added to a database\nLeave out -f.
  balance --base-url 127.0.0.1:4601 => exit 78 | Write it with http://: http://127.0.0.1:4601\n
  balance --base-url localhost:4601 => exit 78 | Write it with http://: http://localhost:4601\n
  balance --base-url leads.example.com => exit 78 | Write it with https://: https://leads.example.com\n
  frobnicate => unknown command "frobnicate"\n
  task fetch ls_1 --pts -1 => --pts is -1: it must be a whole number, at least 0\n
  serve --port 70000 => --port is 70000: it must be a whole number from 0 to 65535\n
  balance --require x => --require must be a whole number, at least 0, not "x"\n
  task status "\r" => the leads_search_id is empty\n
  history show nope => ${nothing}
  resume nope => ${nothing}
  history resume nope => unknown command "resume": did you mean leadpipe resume?
  task resume nope => did you mean leadpipe resume?
  search company x --continue nope => unknown option "--continue"\n | Did you mean leadpipe resume?\n
  hisotry => unknown command "hisotry": did you mean history?
  task statsu x => unknown command "statsu": did you mean status? | One of: run, create,
  history shwo x => unknown command "shwo": did you mean show?
  history op_1 => unknown command "op_1" | One of: list, lists, show, drop, prune, totals.
  help serch => unknown command or topic "serch": did you mean search?
  help exitcodes => did you mean exit-codes?
  help nope => unknown command or topic "nope"\n | One of: search,
  task help rnu => unknown command "rnu": did you mean run?
  serch --help => unknown command "serch": did you mean search?
  planet => unknown command "planet"\n | One of:
  task status x --formta csv => unknown option "--formta" | Did you mean --format?
  balance --limit 5 => unknown option "--limit"
  --local serch company x => unknown command "serch": did you mean search?
  --locl search company x => unknown option "--locl"\nDid you mean --local?\n
  task --local => the command is missing\n | One of: run, create,
  balance --json -f csv => --json means -f json, so -f csv can't be used with it\n
  balance -f cvs => unknown format "cvs": did you mean csv? | One of: table, cards, jsonl, json, csv, md, xlsx, sqlite.
  search comp x => did you mean company?
  search shopify_stroe x => did you mean shopify_store?
  contact emial x => unknown contact type "emial": did you mean email? | One of: email, phone.
  extract ins_folowing x => did you mean ins_following?
  config get timeout.idel => did you mean timeout.idle?
  entity-search company "fintech in Berlin" => unknown command "entity-search": did you mean leadpipe search company "fintech in Berlin"?
  entity_search x => did you mean leadpipe search x?
  deep-search "what is x" => did you mean leadpipe research "what is x"?
  contact-search email x => did you mean leadpipe contact email x?
  create_task company x => did you mean leadpipe task create company x?
  entity-search --entity-type company --objective "a b" => did you mean leadpipe search company "a b"?
  search --entity-type company --objective "a b" --limit 5 => the entity type is an argument, not an option\nYou probably meant: leadpipe search company "a b" --limit 5\n
  search company --objective=x --limit 3 => the objective is an argument | leadpipe search company x --limit 3\n
  contact --contact_type email --objective x => leadpipe contact email x\n
  research --query x => the query is an argument, not an option\nYou probably meant: leadpipe research x\n
  search "{\"entity_type\":\"company\",\"objective\":\"a b\",\"limit\":5}" => a JSON request can't be used as an argument\nYou probably meant: leadpipe search company "a b" --limit 5\n
  search "{\"objective\":\"a b\",\"entity_type\":\"person\",\"enrich_fields\":[\"x\",\"y\"]}" -o a.csv => leadpipe search person "a b" --enrich-fields x,y -o a.csv\n
  research "{\"query\":\"a b\"}" => a JSON request can't be used as an argument\nYou probably meant: leadpipe research "a b"\n
  enrich "{\"entity_context\":\"a b\",\"enrich_fields\":{\"type\":\"object\"}}" => leadpipe enrich "a b" --schema | <file>
  "{\"entity_type\":\"company\",\"objective\":\"a b\"}" => did you mean leadpipe search company "a b"?
  "{\"entity_type\":\"wechat\",\"objective\":\"a b\",\"enable_web_search\":true}" => did you mean leadpipe task run wechat "a b" --enable-web-search?
  help nope => environment, exit-codes, formats, local-service, money, options.
  search company x -f exel => unknown format "exel": did you mean xlsx? | One of: table,
  search company “fintech in Berlin” –limit 5 => ${chat} leadpipe search company "fintech in Berlin" --limit 5\n
  search “company” «a b» —limit=5 -o x.csv => ${chat} leadpipe search company "a b" "--limit=5" -o x.csv\n
  contact email –local => ${chat} leadpipe contact email --local\n
  contact email –input x.csv => ${chat} leadpipe contact email --input x.csv\n
  balance –q => ${chat} leadpipe balance -q\n
  search company "“Acme” rivals" “dentists => ${chat} leadpipe search company "“Acme” rivals" dentists\n
  history –limit 5 => unknown command "–limit": did you mean leadpipe history --limit 5?
  –local search company x => did you mean leadpipe --local search company x?
  completion zhs => unknown shell "zhs": did you mean zsh? | One of: bash, zsh, fish, powershell.
`;

describe('the first mistakes of a newcomer', () => {
  it('a guess is not buried under a long list', async () => {
    const { stderr } = await runInProcess('serch');
    expect(stderr).toBe('error: unknown command "serch": did you mean search?\n');
  });

  it.each(commandLines(mistakes, 2))('$line', async ({ args, says, exit }) => {
    const result = await runInProcess(args, { env: pointedAt('http://127.0.0.1:9') });
    expect(result).toMatchObject(failing(exit, ...says));
    expect(result.stderr).not.toMatch(/\n {4}at |charged/);
  });

  it.each(['history show', 'resume'])(
    '%s names the operation that is near, and no other',
    async (command) => {
      const at = createMachine();
      await at.leadpipe('search company fintech --limit 1 --local');
      const known = String((await at.history())[0]?.operation_id);
      const near = await at.leadpipe(`${command} ${known.slice(0, -1)}_`);
      expect(near.stderr).toContain(
        `Did you mean ${known}? To see the purchases of this machine: leadpipe history`,
      );
      const { stderr } = await at.leadpipe(`${command} nope`);
      expect(stderr).toContain('\nTo see the purchases of this machine: leadpipe history');
      expect(stderr).not.toContain(known);
    },
  );
});

describe('without credits', () => {
  const fewer = /ask for fewer/;
  it.each<[line: string, says: RegExp, not: RegExp, left?: number]>([
    ['search company x', /ask for fewer with --limit\./, /such as/],
    ['contact email x', /leadpipe balance/, fewer],
    ['extract x_followers x', /ask for fewer with --limit\./, /smaller/],
    ['extract web2list https://a.example --instruction x', /leadpipe balance/, fewer],
    // With what is left, a number that it covers.
    ['search company x', /enough credits: this search\nmay cost 100, and 0 are left \(POST/, fewer, 0],
    ['search company x --limit 50', /ask for\s+fewer\s+with\s+--limit 7\./, /smaller/, 7],
  ])('`%s` speaks of the options that it has', async (line, says, not, left) => {
    const refused = errorAnswer('402 Payment Required', 'insufficient_credits', 'no credits');
    const balance = left === undefined ? refused : jsonAnswer(creditBalance(left));
    const at = await machineWith(
      (socket, { method }) => void socket.end(method === 'GET' ? balance : refused),
    );
    const screen = left === undefined ? {} : { stderrIsTerminal: true, columns: 40 };
    const result = await at.leadpipe(line, screen);
    expect(result).toMatchObject(ending(5, says));
    expect(result.stderr).not.toMatch(not);
  });
});

describe('an error as JSON', () => {
  const errorOf = async (line: string) => {
    const { code, stderr } = await createMachine().leadpipe(`${line} --json-errors`);
    const { error } = JSON.parse(stderr);
    expect(error.exit).toBe(code);
    return error;
  };

  it('has its hint on one line, without the columns of the screen', async () => {
    const error = await errorOf('balance');
    expect(error.hint).not.toMatch(/\n| {2}/);
    expect(error.hint).toContain('leadpipe auth login');
    expect(error).toMatchObject({ exit: 78, charged: 'no' });
  });

  it.each([
    ['search company', 2],
    ['search company x --limit many', 2],
    ['history show op_1', 6],
    ['config get base_url', 6],
    ['search company x --profile nobody', 78],
  ])('`%s` sent nothing, and says that nothing is charged', async (line, exit) => {
    expect(await errorOf(line)).toMatchObject({ exit, charged: 'no' });
  });
});
