import type { CtLog, Submission } from '../log/ct-log';
import type { AcceptedRoots } from '../submission/accepted-roots';
import { readSubmission, type SubmittedKind } from '../submission/read-submission';
import { type ChainRules, SubmissionFault } from '../submission/chain';
import { type Call, json, RequestFault, type Route, type Routes } from './response';
import { chainOf } from './parameters';

export interface Submitting {
  readonly roots: AcceptedRoots;
  readonly acceptAnyRoot: boolean;
}

/** Submission API of both kinds of logs (RFC 6962, sections 4.1, 4.2 and 4.7). */
export function submissionRoutes(log: CtLog, submitting: Submitting): Readonly<Record<string, Routes>> {
  return {
    'ct/v1/add-chain': { POST: addChain(log, 'certificate', submitting) },
    'ct/v1/add-pre-chain': { POST: addChain(log, 'precertificate', submitting) },
    'ct/v1/get-roots': {
      GET: async () => {
        const roots = [...(await submitting.roots.current()).values()];
        return json({ certificates: roots.map(({ der }) => der.toString('base64')) });
      },
    },
  };
}

function addChain(log: CtLog, kind: SubmittedKind, { roots, acceptAnyRoot }: Submitting): Route {
  return async ({ body }: Call) => {
    const chain = chainOf(await body());
    const submission = submissionOf(chain, kind, { roots: await roots.current(), acceptAnyRoot });
    const { logId, timestamp, extensions, signature } = await log.submit(submission);
    return json({
      sct_version: 0,
      id: logId.toString('base64'),
      timestamp,
      extensions: extensions.toString('base64'),
      signature: signature.toString('base64'),
    });
  };
}

function submissionOf(chain: readonly Buffer[], kind: SubmittedKind, rules: ChainRules): Submission {
  try {
    return readSubmission(chain, kind, rules);
  } catch (error) {
    if (error instanceof SubmissionFault) throw new RequestFault(400, error.message);
    throw error;
  }
}
