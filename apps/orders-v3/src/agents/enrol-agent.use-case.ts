import {
  agentId,
  assertSealingKey,
  ContractError,
  type EnrolResponse,
  enrolmentTokenSha256,
  limits,
  verifyStatement,
} from '@certwright/agent-contract';
import { Transactions, type Tx } from '@certwright/core-schema';
import { Problem } from '@certwright/errors';
import { Injectable } from '@nestjs/common';
import { clusterKeyRequired, tooManyAgents } from '../wire/problems';
import type { EnrolBody } from './agent-requests';

interface Enrolment {
  readonly id: string;
  readonly accountId: string;
  readonly cluster: string;
  readonly isUsable: boolean;
}

interface Known {
  readonly enrolmentId: string;
  readonly isSame: boolean;
}

@Injectable()
export class EnrolAgent {
  constructor(private readonly transactions: Transactions) {}

  /**
   * Makes a host a member of the cluster of the token. Repeating a request that succeeded changes nothing, also when the
   * token has expired since. The caller has verified the signature by the identity key.
   *
   * @returns null for every token that cannot be used
   * @throws Problem `cluster_key_required`, `conflict`, `bad_request` for a statement that is not by the cluster key
   */
  async run(body: EnrolBody): Promise<EnrolResponse | null> {
    const identityKey = Buffer.from(body.identity_key, 'base64url');
    const id = agentId(identityKey);
    return await this.transactions.run(async (tx) => {
      const enrolment = await lockEnrolment(tx, body.token);
      if (enrolment === null) return null;
      const clusterKey = await lockCluster(tx, enrolment);
      const known = await knownAgent(tx, id, body);
      const response = {
        agent_id: id,
        cluster: { name: enrolment.cluster, cluster_key: clusterKey?.toString('base64url') ?? null },
      };
      if (known !== null) return known.isSame && known.enrolmentId === enrolment.id ? response : null;
      if (!enrolment.isUsable) return null;
      assertUsable(body.sealing_key);
      assertStatement(body, id, clusterKey);
      await assertRoom(tx, enrolment, clusterKey);
      const added = await tx.query<unknown[]>(
        `INSERT INTO agent (id, account_id, cluster, identity_key, sealing_key, statement, enrolment_id, name, version,
           platform, last_seen_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, clock_timestamp())
         ON CONFLICT DO NOTHING RETURNING 1 AS added`,
        [
          ...[id, enrolment.accountId, enrolment.cluster, identityKey],
          ...[Buffer.from(body.sealing_key, 'base64url'), body.statement, enrolment.id],
          ...[body.name, body.version, body.platform],
        ],
      );
      // It has joined another cluster since `knownAgent` looked.
      if (added.length === 0) return null;
      await tx.query(`UPDATE cluster_enrolment SET used = used + 1 WHERE id = $1`, [enrolment.id]);
      return response;
    });
  }
}

/** Of an account that is not disabled. */
async function lockEnrolment(tx: Tx, token: string): Promise<Enrolment | null> {
  const rows = await tx.query<Enrolment[]>(
    `SELECT enrolment.id, account_id AS "accountId", cluster,
       used < uses AND expires_at > clock_timestamp() AND revoked_at IS NULL AS "isUsable"
     FROM cluster_enrolment AS enrolment JOIN account ON account.id = account_id
     WHERE token_sha256 = $1 AND disabled_at IS NULL FOR UPDATE OF enrolment`,
    [enrolmentTokenSha256(token)],
  );
  return rows[0] ?? null;
}

/** Two hosts that join at the same time see each other. */
async function lockCluster(tx: Tx, { accountId, cluster }: Enrolment): Promise<Buffer | null> {
  const [row] = await tx.query<[{ key: Buffer | null }]>(
    `SELECT cluster_key AS key FROM cluster WHERE account_id = $1 AND name = $2 FOR NO KEY UPDATE`,
    [accountId, cluster],
  );
  return row.key;
}

async function knownAgent(
  tx: Tx,
  id: string,
  { identity_key: identityKey, sealing_key: sealingKey, statement }: EnrolBody,
): Promise<Known | null> {
  const rows = await tx.query<Known[]>(
    `SELECT enrolment_id AS "enrolmentId",
       removed_at IS NULL AND identity_key = $2 AND sealing_key = $3 AND statement IS NOT DISTINCT FROM $4 AS "isSame"
     FROM agent WHERE id = $1`,
    [id, Buffer.from(identityKey, 'base64url'), Buffer.from(sealingKey, 'base64url'), statement],
  );
  return rows[0] ?? null;
}

/** No other agent could seal a key for it, and so make one for the cluster. */
function assertUsable(sealingKey: string): void {
  try {
    assertSealingKey(Buffer.from(sealingKey, 'base64url'));
  } catch (error) {
    if (!(error instanceof ContractError)) throw error;
    throw Problem.ofFields([
      { field: 'sealing_key', code: 'invalid_value', message: `It cannot be used: ${error.message}.` },
    ]);
  }
}

function assertStatement(body: EnrolBody, id: string, clusterKey: Buffer | null): void {
  const { statement, sealing_key: sealingKey } = body;
  if (clusterKey === null && statement === null) return;
  if (clusterKey === null)
    throw invalidStatement('The cluster has no cluster key, so there can be no statement.');
  if (statement === null)
    throw invalidStatement('The cluster has a cluster key, which must sign a statement.');
  try {
    const member = verifyStatement(statement, clusterKey);
    const isOwn =
      member.agentId === id && Buffer.from(member.sealingKey).toString('base64url') === sealingKey;
    if (isOwn) return;
  } catch (error) {
    if (!(error instanceof ContractError)) throw error;
    throw invalidStatement(`The statement does not admit the agent: ${error.message}.`);
  }
  throw invalidStatement('The statement is about other keys.');
}

const invalidStatement = (message: string) =>
  Problem.ofFields([{ field: 'statement', code: 'invalid_value', message }]);

async function assertRoom(
  tx: Tx,
  { accountId, cluster }: Enrolment,
  clusterKey: Buffer | null,
): Promise<void> {
  const [{ count }] = await tx.query<[{ count: number }]>(
    `SELECT count(*)::int AS count FROM agent WHERE account_id = $1 AND cluster = $2 AND removed_at IS NULL`,
    [accountId, cluster],
  );
  if (clusterKey === null && count > 0) throw clusterKeyRequired();
  if (count >= limits.maxAgentsPerCluster) throw tooManyAgents();
}
