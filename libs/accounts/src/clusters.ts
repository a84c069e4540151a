import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

@Injectable()
export class Clusters {
  constructor(private readonly database: DataSource) {}

  async exists(accountId: string, name: string): Promise<boolean> {
    const rows: unknown[] = await this.database.query(
      `SELECT 1 FROM cluster WHERE account_id = $1 AND name = $2`,
      [accountId, name],
    );
    return rows.length > 0;
  }
}
