import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Context } from '../context.ts';
import { LeadpipeError, UsageError } from '../errors.ts';
import { type JsonText, objectOf } from '../json/text.ts';
import { readOperation } from '../operations/journal/journal.ts';
import { createSpending } from '../operations/spending.ts';
import { toTerminalText } from '../output/clean.ts';
import { toAgentJson } from './agent-json.ts';
import { type Arguments, checkArguments } from './arguments.ts';
import { freeTools, type Members, toNext } from './calls.ts';
import { type Asker, createConfirmation } from './confirmation.ts';
import { chainOf } from './earlier.ts';
import { failureIn, itemsOf, type PaidTool, paidTools } from './paid-tools.ts';
import type { Tell } from './progress.ts';
import { type Connect, createPurchases, type PaidCall } from './purchases.ts';
import type { Settled } from './resumption.ts';
import { readRecords } from './stored.ts';
import { type Advice, type DescribeError, toErrorFields } from './tool-errors.ts';
import { instructions, tools } from './tools.ts';

export interface McpOptions {
  readonly connect: Connect;
  /** Credits that the whole session may spend, in worst cases. */
  readonly maxCredits: number | undefined;
  /** Whether the person is asked before each purchase. */
  readonly confirm: boolean;
  readonly describe: DescribeError;
  /** What to do, where that is for the person who started it. */
  readonly advice: Advice;
  /** Tells the person who started it, not the client. */
  say(line: string): void;
}

/** All that agents do while the server runs. */
export interface Session {
  /** For one client; all of them share what is bought, and the limit. */
  createServer(): Server;
  /** Stops what is under way; resolves when what arrived is put away. */
  close(): Promise<void>;
}

type Call = Pick<
  ServerContext['mcpReq'],
  'signal' | '_meta' | 'notify' | 'inputResponses' | 'requestState' | 'envelope' | 'send'
>;

/** What came of a call. */
interface Came {
  readonly members: Members;
  readonly isError: boolean;
}

export function createSession(context: Context, options: McpOptions): Session {
  const spending = options.maxCredits === undefined ? undefined : createSpending(options.maxCredits);
  const purchases = createPurchases(context, options.connect, spending);
  const confirmation = options.confirm
    ? createConfirmation(context.clock, options.advice.cannotAsk)
    : undefined;

  async function call(
    name: string,
    given: unknown,
    request: Call,
    canAsk: boolean,
  ): Promise<Came | InputRequiredResult> {
    const definition = tools.find((tool) => tool.name === name);
    if (definition === undefined) {
      throw new UsageError(
        `there is no tool ${name.slice(0, 100)}`,
        `There are: ${tools.map((tool) => tool.name).join(', ')}.`,
      );
    }
    const args = checkArguments(definition, given);
    const paid = paidTools[name];
    if (paid !== undefined) return await callPaid(paid, args, request, canAsk);
    const { connect } = options;
    const members = await freeTools[name]?.({ context, connect, spending, signal: request.signal }, args);
    return { members: members ?? [], isError: false };
  }

  async function callPaid(
    tool: PaidTool,
    args: Arguments,
    request: Call,
    canAsk: boolean,
  ): Promise<Came | InputRequiredResult> {
    const body = await tool.toBody(args);
    const { signal } = request;
    const wanted = { kind: tool.kind, body } as PaidCall['wanted'];
    const again = args.again === true;
    const tell = createTell(request, tool.records === 'leads' ? (args.limit as number) : undefined);
    const settle = (mayBuy: boolean) => purchases.settle({ wanted, again, mayBuy, signal, tell });
    const buy = async () => (await settle(true)) as Settled;
    if (confirmation === undefined) return await toMembers(tool, args, await buy(), signal);
    const asker = {
      about: `${tool.kind}\n${JSON.stringify(body)}`,
      isApart: again,
      what: toTerminalText(tool.about(args)),
      given: { responses: request.inputResponses, mark: request.requestState() },
      canAsk,
      // Clients of the earlier revisions are asked while they wait.
      elicit: request.envelope === undefined ? toElicit(request) : undefined,
      signal,
    };
    let came = await confirmation.answered(asker, buy);
    while (came === undefined) {
      const asked = await confirmation.ask<Settled>(asker, () => settle(false), buy);
      if (asked !== undefined && 'inputRequests' in asked) return asked;
      came = asked as Settled | undefined;
    }
    return await toMembers(tool, args, came, signal);
  }

  async function toMembers(
    tool: PaidTool,
    args: Arguments,
    settled: Settled,
    signal: AbortSignal,
  ): Promise<Came> {
    const { answer, operationId, requestId, leadsSearchId, stopReason, stored, error } = settled;
    const failure = answer === undefined ? undefined : failureIn(tool, answer);
    if (failure !== undefined) throw toStoredFailure(failure, settled);
    const lines = answer === undefined ? [] : await (tool.warningsOf?.(args, answer) ?? Promise.resolve([]));
    const warnings = [...settled.warnings, ...lines];
    const from: (readonly [string, unknown])[] = [
      ['complete', settled.complete],
      ['charged', settled.charged],
      ['operation_id', operationId],
      ['request_id', requestId],
      ['leads_search_id', leadsSearchId],
      ['stop_reason', stopReason],
      ['stored', stored || undefined],
      ['warnings', warnings.length === 0 ? undefined : warnings],
      ['error', error && toErrorFields(error, options)],
    ];
    const members = [
      ...(await toRecords(tool, args.show as number, settled, signal)),
      ...from.flatMap(([name, value]) =>
        value === undefined ? [] : [[name, JSON.stringify(value)] as const],
      ),
    ];
    return { members, isError: error !== undefined && !settled.hasBrought };
  }

  /** What came: the first of the records, or the one answer. */
  async function toRecords(
    { records: name }: PaidTool,
    show: number,
    { answer, operationId = '', unkept }: Settled,
    signal: AbortSignal,
  ): Promise<Members> {
    if (name === undefined) return answer === undefined ? [] : [['answer', answer]];
    const all = answer === undefined ? unkept : await itemsOf(answer, signal);
    // Where nothing was kept, what is not shown now can't be read later.
    if (unkept !== undefined) return toList(name, unkept, unkept.length);
    if (all !== undefined) return toList(name, all.slice(0, show), all.length);
    const { state } = context.directories;
    const operation = await readOperation(state, operationId);
    const chain = operation === undefined ? [] : await chainOf(state, operation);
    const { records = [], count = 0 } = (await readRecords(state, chain, 0, show, signal)) ?? {};
    return toList(name, records, count);
  }

  return {
    createServer() {
      const server = new Server(
        { name: 'leadpipe', version: context.version },
        // Arguments are checked here, with messages that say what to do; the SDK's validator would only be loaded.
        {
          capabilities: { tools: {} },
          instructions,
          jsonSchemaValidator: {
            getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
          },
        },
      );
      server.setRequestHandler('tools/list', () => ({ tools: tools as never }));
      server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
        const envelope = mcpReq.envelope as Readonly<Record<string, ClientCapabilities>> | undefined;
        const theirs = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
        try {
          const came = await call(params.name, params.arguments, mcpReq, canElicit(theirs));
          if (!isCame(came)) return came;
          const result = toResult(objectOf(came.members));
          return came.isError ? { ...result, isError: true } : result;
        } catch (error) {
          if (!(error instanceof LeadpipeError))
            options.say(
              `a bug in leadpipe: ${error instanceof Error ? (error.stack ?? error.message) : error}`,
            );
          const fields = toErrorFields(error, options);
          return { ...toResult(JSON.stringify({ error: fields })), isError: true };
        }
      });
      return server;
    },
    close: () => purchases.close(),
  };
}

function isCame(came: Came | InputRequiredResult): came is Came {
  return Array.isArray((came as Came).members);
}

/** As long as people take to answer. */
const askedMs = 600_000;

function toElicit({ send, signal }: Call): NonNullable<Asker['elicit']> {
  return (params) => send({ method: 'elicitation/create', params }, { signal, timeout: askedMs });
}

/** The same twice: for clients that look at the structure, and for those that look at the text. */
function toResult(json: JsonText): CallToolResult {
  const text = toAgentJson(json);
  return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) };
}

function toList(name: string, records: readonly JsonText[], count: number): Members {
  return [[name, `[${records.join(',')}]`], ['count', String(count)], ...toNext(records.length, count)];
}

/** A form can be shown by whoever says so, and by whoever says nothing of forms or addresses. */
function canElicit(theirs: ClientCapabilities | undefined): boolean {
  const elicitation = theirs?.elicitation;
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** Of a search, progress is how many of `total` leads have come. It has to grow: a message between counts as a little of one. */
function createTell({ _meta, notify }: Call, total: number | undefined): Tell {
  const token = _meta?.progressToken;
  if (token === undefined) return () => {};
  const step = total === undefined ? 1 : 0.001;
  let told = 0;
  return (message, leads = 0) => {
    told = Math.max(leads, Math.round((told + step) * 1000) / 1000);
    const params = {
      progressToken: token,
      progress: told,
      ...(total === undefined ? {} : { total: Math.max(total, told) }),
      message: toTerminalText(message),
    };
    // Whoever does not listen any more misses nothing.
    void notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}

/** The service finished without a result, and said so to an earlier call too. */
function toStoredFailure(failure: string, { operationId, requestId }: Settled): LeadpipeError {
  return new LeadpipeError('no_result', failure || 'finished without a result', {
    type: 'no_result',
    charged: 'no',
    retryable: false,
    hint: 'This is the stored answer of an earlier call, and cost nothing now. If the person wants to buy it again anyway, repeat the call with again: true.',
    ...(operationId === undefined ? {} : { operationId }),
    ...(requestId === undefined ? {} : { requestId }),
  });
}
