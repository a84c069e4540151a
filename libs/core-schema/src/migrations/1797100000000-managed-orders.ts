import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Agents of clusters: who they are, which keys they make, and what they have installed. */
export class ManagedOrders1797100000000 implements MigrationInterface {
  readonly name = 'ManagedOrders1797100000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    const [{ schema }] = (await queryRunner.query(`SELECT quote_ident(current_schema()) AS schema`)) as [
      { schema: string },
    ];
    for (const statement of [...tables, ...foreignKeys, ...functions(schema), ...rowsOfOrders])
      await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const tables = [
  `ALTER TABLE cluster
     ADD cluster_key bytea,
     ADD rotate_keys boolean NOT NULL DEFAULT true,
     ADD version bigint NOT NULL DEFAULT '0',
     ADD members_version bigint NOT NULL DEFAULT '0',
     ADD reset_before bigint NOT NULL DEFAULT '0',
     ADD seals_missing boolean NOT NULL DEFAULT false,
     ADD CONSTRAINT cluster_key_length CHECK (octet_length(cluster_key) = 32)`,
  `COMMENT ON COLUMN cluster.cluster_key IS 'Ed25519 public key that signs the statements of members; null: one agent at most'`,
  `COMMENT ON COLUMN cluster.rotate_keys IS 'a renewal requests a new key first'`,
  `COMMENT ON COLUMN cluster.version IS 'grows with every change that its agents see'`,
  `COMMENT ON COLUMN cluster.members_version IS 'version of the last change of its members'`,
  `COMMENT ON COLUMN cluster.reset_before IS 'an agent that knows only an older version begins again: what left the cluster before is forgotten'`,
  `COMMENT ON COLUMN cluster.seals_missing IS 'a member may lack keys that another member holds'`,
  `CREATE TABLE cluster_enrolment (
      id bigint NOT NULL DEFAULT random_id(),
      account_id bigint NOT NULL,
      cluster text COLLATE "C" NOT NULL,
      token_sha256 bytea NOT NULL,
      uses integer NOT NULL,
      used integer NOT NULL DEFAULT '0',
      expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      revoked_at TIMESTAMP WITH TIME ZONE,
      CONSTRAINT cluster_enrolment_uses CHECK (uses BETWEEN 1 AND 1000 AND used BETWEEN 0 AND uses),
      CONSTRAINT "PK_cluster_enrolment" PRIMARY KEY (id)
    )`,
  `COMMENT ON COLUMN cluster_enrolment.id IS 'random 48-bit integer'`,
  `COMMENT ON COLUMN cluster_enrolment.token_sha256 IS 'SHA-256 over the text of the token'`,
  `CREATE UNIQUE INDEX cluster_enrolment_token ON cluster_enrolment (token_sha256)`,
  `CREATE INDEX cluster_enrolment_cluster ON cluster_enrolment (account_id, cluster, created_at)`,
  `CREATE TABLE agent (
      id text COLLATE "C" NOT NULL,
      account_id bigint NOT NULL,
      cluster text COLLATE "C" NOT NULL,
      identity_key bytea NOT NULL,
      sealing_key bytea NOT NULL,
      statement text,
      enrolment_id bigint NOT NULL,
      name text NOT NULL,
      version text NOT NULL,
      platform text NOT NULL,
      enrolled_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      removed_at TIMESTAMP WITH TIME ZONE,
      last_seen_at TIMESTAMP WITH TIME ZONE,
      clock_offset_s integer,
      problem text,
      report_number bigint NOT NULL DEFAULT '0',
      CONSTRAINT agent_keys CHECK (octet_length(identity_key) = 32 AND octet_length(sealing_key) = 32),
      CONSTRAINT "PK_agent" PRIMARY KEY (id)
    )`,
  `COMMENT ON COLUMN agent.id IS 'base64url of the first 16 bytes of SHA-256 over identity_key'`,
  `COMMENT ON COLUMN agent.identity_key IS 'Ed25519 public key, raw'`,
  `COMMENT ON COLUMN agent.sealing_key IS 'X25519 public key, raw'`,
  `COMMENT ON COLUMN agent.statement IS 'JWS of the cluster key over both keys; null: the cluster has no key'`,
  `COMMENT ON COLUMN agent.last_seen_at IS 'updated every few minutes; null: not since it enrolled'`,
  `COMMENT ON COLUMN agent.clock_offset_s IS 'its clock minus that of the server'`,
  `COMMENT ON COLUMN agent.problem IS 'as it reported it'`,
  `COMMENT ON COLUMN agent.report_number IS 'of its newest report'`,
  `CREATE INDEX agent_cluster ON agent (account_id, cluster, id)`,
  `ALTER TABLE order_v3 ADD agent_version bigint`,
  `COMMENT ON COLUMN order_v3.agent_version IS 'version of the cluster with the last change that agents see; null: not managed'`,
  `CREATE INDEX order_v3_of_cluster ON order_v3 (account_id, cluster, agent_version) WHERE cluster IS NOT NULL`,
  `CREATE INDEX order_v3_to_request ON order_v3 (account_id, cluster) WHERE cluster IS NOT NULL AND csr IS NULL`,
  `CREATE TABLE cluster_release (
      account_id bigint NOT NULL,
      cluster text COLLATE "C" NOT NULL,
      order_name text COLLATE "C" NOT NULL,
      version bigint NOT NULL,
      released_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT "PK_cluster_release" PRIMARY KEY (account_id, cluster, order_name)
    )`,
  `COMMENT ON COLUMN cluster_release.order_name IS 'of an order that left the cluster'`,
  `CREATE INDEX cluster_release_version ON cluster_release (account_id, cluster, version)`,
  `CREATE INDEX cluster_release_age ON cluster_release (released_at)`,
  `ALTER TABLE plan
     ADD makes_keys boolean NOT NULL DEFAULT false,
     ADD new_key_at_renewal boolean NOT NULL DEFAULT false,
     ADD CONSTRAINT plan_makes_keys CHECK (makes_keys OR NOT new_key_at_renewal)`,
  `COMMENT ON COLUMN plan.makes_keys IS 'its owner makes a new key when a key request says so'`,
  `COMMENT ON COLUMN plan.new_key_at_renewal IS 'a renewal requests a new key first'`,
  `CREATE TABLE key_request (
      plan_id bigint NOT NULL,
      id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
      reason text NOT NULL,
      requested_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      due_at TIMESTAMP WITH TIME ZONE NOT NULL,
      falls_back_at TIMESTAMP WITH TIME ZONE,
      agent_id text COLLATE "C",
      assigned_until TIMESTAMP WITH TIME ZONE,
      unpaid_at TIMESTAMP WITH TIME ZONE,
      CONSTRAINT key_request_reason CHECK (reason IN ('first', 'renewal', 'rekey')),
      CONSTRAINT key_request_falls_back CHECK ((falls_back_at IS NOT NULL) = (reason = 'renewal')),
      CONSTRAINT key_request_assigned CHECK ((agent_id IS NULL) = (assigned_until IS NULL)),
      CONSTRAINT "PK_key_request" PRIMARY KEY (plan_id)
    )`,
  `COMMENT ON COLUMN key_request.id IS 'another one for each request'`,
  `COMMENT ON COLUMN key_request.due_at IS 'not to be assigned before'`,
  `COMMENT ON COLUMN key_request.falls_back_at IS 'when the renewal goes on with the present key'`,
  `COMMENT ON COLUMN key_request.agent_id IS 'who makes the key; null: not assigned'`,
  `COMMENT ON COLUMN key_request.unpaid_at IS 'when the account last could not pay for the certificate of the new key'`,
  `CREATE INDEX key_request_of_agent ON key_request (agent_id) WHERE agent_id IS NOT NULL`,
  `CREATE TABLE managed_key (
      account_id bigint NOT NULL,
      cluster text COLLATE "C" NOT NULL,
      spki_sha256 bytea NOT NULL,
      plan_id bigint NOT NULL,
      made_by text COLLATE "C" NOT NULL,
      task_id bigint NOT NULL,
      csr_sha256 bytea NOT NULL,
      revision integer NOT NULL,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      sealer text COLLATE "C",
      seal_until TIMESTAMP WITH TIME ZONE,
      seal_version bigint,
      CONSTRAINT managed_key_hash CHECK (octet_length(spki_sha256) = 32),
      CONSTRAINT managed_key_sealer CHECK ((sealer IS NULL) = (seal_until IS NULL) AND (sealer IS NULL) = (seal_version IS NULL)),
      CONSTRAINT "PK_managed_key" PRIMARY KEY (account_id, cluster, spki_sha256)
    )`,
  `COMMENT ON COLUMN managed_key.spki_sha256 IS 'SHA-256 over the DER SubjectPublicKeyInfo'`,
  `COMMENT ON COLUMN managed_key.made_by IS 'agent that generated it'`,
  `COMMENT ON COLUMN managed_key.task_id IS 'the key request that it responded to'`,
  `COMMENT ON COLUMN managed_key.csr_sha256 IS 'SHA-256 over the DER PKCS#10 that it came with'`,
  `COMMENT ON COLUMN managed_key.revision IS 'of the plan, after it came'`,
  `COMMENT ON COLUMN managed_key.sealer IS 'agent that is to seal it for members that lack it; null: none'`,
  `COMMENT ON COLUMN managed_key.seal_version IS 'version of the cluster when the sealer was chosen'`,
  `CREATE INDEX managed_key_plan ON managed_key (plan_id)`,
  `CREATE INDEX managed_key_to_seal ON managed_key (sealer, seal_version) WHERE sealer IS NOT NULL`,
  `CREATE TABLE sealed_key (
      account_id bigint NOT NULL,
      cluster text COLLATE "C" NOT NULL,
      spki_sha256 bytea NOT NULL,
      receiver text COLLATE "C" NOT NULL,
      sender text COLLATE "C" NOT NULL,
      enc bytea NOT NULL,
      ciphertext bytea NOT NULL,
      signature bytea NOT NULL,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT sealed_key_lengths CHECK (octet_length(enc) = 32 AND octet_length(signature) = 64 AND octet_length(ciphertext) <= 8192),
      CONSTRAINT "PK_sealed_key" PRIMARY KEY (account_id, cluster, spki_sha256, receiver)
    )`,
  `COMMENT ON COLUMN sealed_key.enc IS 'HPKE encapsulated key (RFC 9180)'`,
  `COMMENT ON COLUMN sealed_key.ciphertext IS 'PKCS#8 DER, sealed to the sealing key of the receiver'`,
  `COMMENT ON COLUMN sealed_key.signature IS 'Ed25519, by the sender'`,
  `CREATE TABLE installation (
      plan_id bigint NOT NULL,
      agent_id text COLLATE "C" NOT NULL,
      point text COLLATE "C" NOT NULL,
      state text NOT NULL,
      certificate_sha256 bytea,
      served jsonb NOT NULL DEFAULT '[]',
      since TIMESTAMP WITH TIME ZONE NOT NULL,
      problem text,
      updated_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT installation_state CHECK (state IN
        ('waiting', 'no_key', 'held', 'installing', 'installed', 'serving', 'rolled_back', 'failed', 'released')),
      CONSTRAINT "PK_installation" PRIMARY KEY (plan_id, agent_id, point)
    )`,
  `COMMENT ON COLUMN installation.point IS 'name of the place on the host, as its configuration has it'`,
  `COMMENT ON COLUMN installation.certificate_sha256 IS 'SHA-256 over the DER certificate that is installed; null: none'`,
  `COMMENT ON COLUMN installation.served IS 'what each address presented: [{ address, sha256, checked_at }]'`,
  `COMMENT ON COLUMN installation.problem IS 'as the agent reported it'`,
  `CREATE INDEX installation_agent ON installation (agent_id)`,
  `CREATE TABLE rollout (
      plan_id bigint NOT NULL,
      certificate_sha256 bytea NOT NULL,
      begun_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      first_agent text COLLATE "C",
      first_since TIMESTAMP WITH TIME ZONE,
      turns integer NOT NULL DEFAULT '0',
      broken text[] NOT NULL DEFAULT '{}',
      served_at TIMESTAMP WITH TIME ZONE,
      stopped_at TIMESTAMP WITH TIME ZONE,
      stop_noticed_at TIMESTAMP WITH TIME ZONE,
      noticed_at TIMESTAMP WITH TIME ZONE,
      CONSTRAINT rollout_first CHECK ((first_agent IS NULL) = (first_since IS NULL)),
      CONSTRAINT rollout_end CHECK (served_at IS NULL OR stopped_at IS NULL),
      CONSTRAINT "PK_rollout" PRIMARY KEY (plan_id)
    )`,
  `COMMENT ON COLUMN rollout.certificate_sha256 IS 'SHA-256 over the DER certificate that is rolled out'`,
  `COMMENT ON COLUMN rollout.first_agent IS 'the only one that installs until it serves; null: none yet'`,
  `COMMENT ON COLUMN rollout.turns IS 'how often another agent became the first'`,
  `COMMENT ON COLUMN rollout.broken IS 'agents that rolled it back or failed'`,
  `COMMENT ON COLUMN rollout.served_at IS 'when the first agent served it: all agents install'`,
  `COMMENT ON COLUMN rollout.stopped_at IS 'when two agents were broken: no agent installs'`,
  `COMMENT ON COLUMN rollout.stop_noticed_at IS 'when the account was notified that it stopped'`,
  `COMMENT ON COLUMN rollout.noticed_at IS 'when the account was notified that a host does not serve it'`,
  `CREATE INDEX rollout_waiting ON rollout (first_since) WHERE served_at IS NULL AND stopped_at IS NULL`,
  `CREATE INDEX rollout_open ON rollout (begun_at) WHERE noticed_at IS NULL`,
  `CREATE INDEX rollout_stopped ON rollout (stopped_at) WHERE stopped_at IS NOT NULL AND stop_noticed_at IS NULL`,
];

const foreignKeys = [
  ...(
    [
      ['cluster_enrolment', 'FK_ab63c7c8d3730181163571238c4'],
      ['agent', 'FK_9ea553bf01497a1e65f977bfb36'],
      ['managed_key', 'FK_6fc5b2b0095653429d52e867f33'],
      ['cluster_release', 'FK_47644cd05e75429e0cf00990c04'],
    ] as const
  ).map(
    ([table, name]) => `ALTER TABLE ${table} ADD CONSTRAINT "${name}" FOREIGN KEY (account_id, cluster)
     REFERENCES cluster(account_id, name) ON DELETE CASCADE`,
  ),
  ...(
    [
      ['key_request', 'FK_9b6d661d3888660ef28b4f9f715'],
      ['managed_key', 'FK_9397ce1cdd77614921cacd8979f'],
      ['installation', 'FK_e67c24e9c3b63ca0ebec521888b'],
      ['rollout', 'FK_397f761e43921bd23ad6061b00c'],
    ] as const
  ).map(
    ([table, name]) =>
      `ALTER TABLE ${table} ADD CONSTRAINT "${name}" FOREIGN KEY (plan_id) REFERENCES plan(id)`,
  ),
  `ALTER TABLE agent ADD CONSTRAINT "FK_cb67a0f2bd929d472417f2878d3"
     FOREIGN KEY (enrolment_id) REFERENCES cluster_enrolment(id)`,
  `ALTER TABLE sealed_key ADD CONSTRAINT "FK_836a9be1781fea1cb0d121cab03"
     FOREIGN KEY (account_id, cluster, spki_sha256) REFERENCES managed_key(account_id, cluster, spki_sha256) ON DELETE CASCADE`,
  `ALTER TABLE installation ADD CONSTRAINT "FK_06de2a8956c632ad851cc42d4d5"
     FOREIGN KEY (agent_id) REFERENCES agent(id) ON DELETE CASCADE`,
  `ALTER TABLE order_v3 ADD CONSTRAINT order_v3_cluster FOREIGN KEY (account_id, cluster) REFERENCES cluster(account_id, name)`,
];

/** What agents see of an order comes from its plan, its certificates and itself: the last two triggers count its version. */
const functions = (schema: string) =>
  [
    // The row of the cluster is locked last, when the transaction commits: versions are in the order of commits.
    `CREATE FUNCTION order_is_seen_by_agents(changed_plan bigint) RETURNS void LANGUAGE plpgsql ${asOwner(schema)} AS $$
     DECLARE
       reached bigint;
     BEGIN
       UPDATE cluster SET version = version + 1 FROM order_v3
       WHERE order_v3.plan_id = changed_plan AND cluster.account_id = order_v3.account_id
         AND cluster.name = order_v3.cluster
       RETURNING version INTO reached;
       IF reached IS NOT NULL THEN
         UPDATE order_v3 SET agent_version = reached WHERE plan_id = changed_plan;
       END IF;
     END $$`,
    `CREATE FUNCTION plan_is_seen_by_agents() RETURNS trigger LANGUAGE plpgsql ${asOwner(schema)} AS $$
     BEGIN
       PERFORM order_is_seen_by_agents(NEW.id);
       RETURN NULL;
     END $$`,
    `CREATE FUNCTION order_moves_between_clusters() RETURNS trigger LANGUAGE plpgsql ${asOwner(schema)} AS $$
     DECLARE
       reached bigint;
     BEGIN
       IF TG_OP <> 'INSERT' AND OLD.cluster IS NOT NULL THEN
         UPDATE cluster SET version = version + 1 WHERE account_id = OLD.account_id AND name = OLD.cluster
         RETURNING version INTO reached;
         INSERT INTO cluster_release (account_id, cluster, order_name, version)
         VALUES (OLD.account_id, OLD.cluster, OLD.name, reached)
         ON CONFLICT (account_id, cluster, order_name) DO UPDATE SET version = reached, released_at = now();
         DELETE FROM managed_key
         WHERE plan_id = OLD.plan_id AND account_id = OLD.account_id AND cluster = OLD.cluster;
         DELETE FROM rollout WHERE plan_id = OLD.plan_id;
         DELETE FROM installation USING agent
         WHERE plan_id = OLD.plan_id AND agent.id = agent_id AND agent.account_id = OLD.account_id
           AND agent.cluster = OLD.cluster;
       END IF;
       IF TG_OP = 'DELETE' OR NEW.cluster IS NULL THEN
         DELETE FROM key_request WHERE plan_id = OLD.plan_id;
         UPDATE order_v3 SET agent_version = NULL WHERE plan_id = OLD.plan_id;
       END IF;
       IF TG_OP <> 'DELETE' AND NEW.cluster IS NOT NULL THEN
         DELETE FROM cluster_release
         WHERE account_id = NEW.account_id AND cluster = NEW.cluster AND order_name = NEW.name;
         PERFORM order_is_seen_by_agents(NEW.plan_id);
       END IF;
       IF TG_OP <> 'DELETE' THEN
         UPDATE plan SET makes_keys = NEW.cluster IS NOT NULL, new_key_at_renewal = coalesce(
           (SELECT rotate_keys FROM cluster WHERE account_id = NEW.account_id AND name = NEW.cluster), false)
         WHERE id = NEW.plan_id;
       END IF;
       RETURN NULL;
     END $$`,
    `CREATE FUNCTION agent_changes_members() RETURNS trigger LANGUAGE plpgsql ${asOwner(schema)} AS $$
     BEGIN
       UPDATE cluster SET version = version + 1, members_version = version + 1,
         seals_missing = seals_missing OR TG_OP = 'INSERT'
       WHERE account_id = NEW.account_id AND name = NEW.cluster;
       RETURN NULL;
     END $$`,
    ...managedOrderFunctions.map((signature) => `REVOKE EXECUTE ON FUNCTION ${signature} FROM PUBLIC`),
    `CREATE CONSTRAINT TRIGGER plan_is_seen_by_agents AFTER UPDATE OF revision, current_version ON plan
       DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
       WHEN (OLD.revision <> NEW.revision OR OLD.current_version <> NEW.current_version)
       EXECUTE FUNCTION plan_is_seen_by_agents()`,
    ...[
      ['order_joins_cluster', 'INSERT', 'NEW.cluster IS NOT NULL'],
      ['order_changes_cluster', 'UPDATE OF cluster', 'OLD.cluster IS DISTINCT FROM NEW.cluster'],
      ['order_leaves_cluster', 'DELETE', 'OLD.cluster IS NOT NULL'],
    ].map(
      ([name, event, condition]) => `CREATE CONSTRAINT TRIGGER ${name} AFTER ${event} ON order_v3
       DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (${condition})
       EXECUTE FUNCTION order_moves_between_clusters()`,
    ),
    `CREATE CONSTRAINT TRIGGER agent_changes_members
       AFTER INSERT OR UPDATE OF removed_at, sealing_key, statement ON agent
       DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION agent_changes_members()`,
  ] as const;

/** Temporary tables come last in the search path, so that a caller cannot replace a table by one. */
const asOwner = (schema: string) => `SECURITY DEFINER SET search_path = ${schema}, pg_temp`;

/** As `regprocedure` prints them. */
export const managedOrderFunctions = [
  'order_is_seen_by_agents(bigint)',
  'plan_is_seen_by_agents()',
  'order_moves_between_clusters()',
  'agent_changes_members()',
] as const;

/** Orders that named a cluster before it had agents. */
const rowsOfOrders = [
  `UPDATE plan SET makes_keys = true, new_key_at_renewal = true FROM order_v3 WHERE plan_id = plan.id AND cluster IS NOT NULL`,
  `WITH numbered AS (
     SELECT plan_id, row_number() OVER (PARTITION BY account_id, cluster ORDER BY plan_id) AS number
     FROM order_v3 WHERE cluster IS NOT NULL)
   UPDATE order_v3 SET agent_version = number FROM numbered WHERE numbered.plan_id = order_v3.plan_id`,
  `UPDATE cluster SET version = counted.orders FROM (
     SELECT account_id, cluster, count(*) AS orders FROM order_v3 WHERE cluster IS NOT NULL GROUP BY 1, 2) AS counted
   WHERE counted.account_id = cluster.account_id AND counted.cluster = cluster.name`,
  `INSERT INTO key_request (plan_id, reason, due_at)
     SELECT plan_id, 'first', now() FROM order_v3 JOIN plan ON plan.id = plan_id
     WHERE cluster IS NOT NULL AND csr IS NULL AND NOT paused`,
];

const down = [
  `DROP TRIGGER agent_changes_members ON agent`,
  `DROP TRIGGER order_leaves_cluster ON order_v3`,
  `DROP TRIGGER order_changes_cluster ON order_v3`,
  `DROP TRIGGER order_joins_cluster ON order_v3`,
  `DROP TRIGGER plan_is_seen_by_agents ON plan`,
  ...[...managedOrderFunctions].reverse().map((signature) => `DROP FUNCTION ${signature}`),
  `DROP TABLE rollout`,
  `DROP TABLE installation`,
  `DROP TABLE sealed_key`,
  `DROP TABLE managed_key`,
  `DROP TABLE key_request`,
  `ALTER TABLE plan DROP CONSTRAINT plan_makes_keys, DROP COLUMN new_key_at_renewal, DROP COLUMN makes_keys`,
  `DROP TABLE cluster_release`,
  `ALTER TABLE order_v3 DROP CONSTRAINT order_v3_cluster`,
  `DROP INDEX order_v3_to_request`,
  `DROP INDEX order_v3_of_cluster`,
  `ALTER TABLE order_v3 DROP COLUMN agent_version`,
  `DROP TABLE agent`,
  `DROP TABLE cluster_enrolment`,
  `ALTER TABLE cluster
     DROP CONSTRAINT cluster_key_length,
     DROP COLUMN cluster_key, DROP COLUMN rotate_keys, DROP COLUMN version, DROP COLUMN members_version,
     DROP COLUMN reset_before, DROP COLUMN seals_missing`,
];
