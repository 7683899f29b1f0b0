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
import { type Arguments, checkArguments } from './arguments.ts';
import { freeTools, type Members, toNext } from './calls.ts';
import { toCleanJson } from './clean-json.ts';
import { createConfirmation } from './confirmation.ts';
import { chainOf } from './earlier.ts';
import { capabilities, instructions, serverName } from './early.ts';
import { failureIn, itemsOf, type PaidTool, paidTools } from './paid-tools.ts';
import { type Connect, createPurchases, type PaidCall } from './purchases.ts';
import type { RawJson } from './raw-json.ts';
import type { Settled } from './resumption.ts';
import { readRecords } from './stored.ts';
import { type Advice, type DescribeError, toErrorFields } from './tool-errors.ts';
import { tools } from './tools.ts';

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

type Call = Pick<ServerContext['mcpReq'], 'signal' | '_meta' | 'notify' | 'inputResponses' | 'requestState'>;

export function createSession(context: Context, options: McpOptions, raw: RawJson): Session {
  const spending = options.maxCredits === undefined ? undefined : createSpending(options.maxCredits);
  const purchases = createPurchases(context, options.connect, spending);
  const confirmation = options.confirm ? createConfirmation(options.advice.cannotAsk) : undefined;

  async function call(
    name: string,
    given: unknown,
    request: Call,
    canAsk: boolean,
  ): Promise<Members | InputRequiredResult> {
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
    return (await freeTools[name]?.({ context, connect, spending, signal: request.signal }, args)) ?? [];
  }

  async function callPaid(
    tool: PaidTool,
    args: Arguments,
    request: Call,
    canAsk: boolean,
  ): Promise<Members | InputRequiredResult> {
    const body = await tool.toBody(args);
    const about = `${tool.kind}\n${JSON.stringify(body)}`;
    const answer = { responses: request.inputResponses, mark: request.requestState() };
    const wanted = { kind: tool.kind, body } as PaidCall['wanted'];
    const settled = await purchases.settle({
      wanted,
      again: args.again === true,
      mayBuy: confirmation === undefined || confirmation.isGiven(about, answer),
      signal: request.signal,
      tell: createTell(request),
    });
    if (!('worst' in settled)) return await toMembers(tool, args, settled, request.signal);
    // It is only not allowed where there is someone to ask.
    if (confirmation === undefined) throw new Error('a purchase was not made');
    return confirmation.ask(about, toTerminalText(tool.about(args)), settled.worst, canAsk);
  }

  async function toMembers(
    tool: PaidTool,
    args: Arguments,
    settled: Settled,
    signal: AbortSignal,
  ): Promise<Members> {
    const { answer, operationId, requestId, leadsSearchId, stopReason, stored, error } = settled;
    const failure = answer === undefined ? undefined : failureIn(tool, answer);
    if (failure !== undefined) throw toStoredFailure(failure, operationId);
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
    return [
      ...(await toRecords(tool, args.show as number, settled, signal)),
      ...from.flatMap(([name, value]) =>
        value === undefined ? [] : [[name, JSON.stringify(value)] as const],
      ),
    ];
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
        { name: serverName, version: context.version },
        // Arguments are checked here, with messages that say what to do; the SDK's validator would only be loaded.
        {
          capabilities,
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
          return isMembers(came) ? toResult(objectOf(came), raw) : came;
        } catch (error) {
          if (!(error instanceof LeadpipeError))
            options.say(
              `a bug in leadpipe: ${error instanceof Error ? (error.stack ?? error.message) : error}`,
            );
          const fields = toErrorFields(error, options);
          return { ...toResult(JSON.stringify({ error: fields }), raw), isError: true };
        }
      });
      return server;
    },
    close: () => purchases.close(),
  };
}

function isMembers(came: Members | InputRequiredResult): came is Members {
  return Array.isArray(came);
}

/** The same twice: for clients that look at the structure, and for those that look at the text. */
function toResult(json: JsonText, raw: RawJson): CallToolResult {
  const text = toCleanJson(json);
  return { content: [{ type: 'text', text }], structuredContent: raw.wrap(text) };
}

function toList(name: string, records: readonly JsonText[], count: number): Members {
  return [[name, `[${records.join(',')}]`], ['count', String(count)], ...toNext(records.length, count)];
}

/** A form can be shown by whoever says so, and by whoever says nothing of forms or addresses. */
function canElicit(theirs: ClientCapabilities | undefined): boolean {
  const elicitation = theirs?.elicitation;
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** Each message is a step: progress has to grow, and nobody knows how far it goes. */
function createTell({ _meta, notify }: Call): (message: string) => void {
  const token = _meta?.progressToken;
  if (token === undefined) return () => {};
  let progress = 0;
  return (message) => {
    progress++;
    const params = { progressToken: token, progress, message: toTerminalText(message) };
    // Whoever does not listen any more misses nothing.
    void notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}

/** The service finished without a result, and said so to an earlier call too. */
function toStoredFailure(failure: string, operationId: string | undefined): LeadpipeError {
  return new LeadpipeError('no_result', failure || 'finished without a result', {
    type: 'no_result',
    charged: 'no',
    retryable: false,
    facts: { is: 'no_result' },
    ...(operationId === undefined ? {} : { operationId }),
  });
}
