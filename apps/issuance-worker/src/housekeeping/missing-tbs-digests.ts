import { logIdentity } from '@certwright/pki';
import { Round } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** Certificates of one round: about 20 ms of work. */
const batch = 200;
/** Processes of an earlier release, which compute no digest, may still run. */
const restMs = 60_000;

/** Computes the TBS digest of certificates that an earlier release stored. */
@Injectable()
export class MissingTbsDigests {
  constructor(private readonly database: DataSource) {}

  /** Their `sct_at` remains null: the index need not have what was logged before it was followed. */
  @Round('tbsDigests')
  async compute(): Promise<number> {
    const found: { id: string; leaf: Buffer }[] = await this.database.query(
      `SELECT id, leaf FROM certificate WHERE tbs_sha256 IS NULL ORDER BY id LIMIT $1`,
      [batch],
    );
    if (found.length > 0) {
      await this.database.query(
        `UPDATE certificate SET tbs_sha256 = computed.tbs_sha256
         FROM unnest($1::bigint[], $2::bytea[]) AS computed (id, tbs_sha256)
         WHERE certificate.id = computed.id AND certificate.tbs_sha256 IS NULL`,
        [found.map(({ id }) => id), found.map(({ leaf }) => Buffer.from(logIdentity(leaf).tbsSha256, 'hex'))],
      );
    }
    return found.length < batch ? restMs : 0;
  }
}
