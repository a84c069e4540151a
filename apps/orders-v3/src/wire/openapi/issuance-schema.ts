import { phases } from '@certwright/issuance';
import { ApiProperty } from '@nestjs/swagger';

export class IssuanceErrorSchema {
  @ApiProperty({ example: 'approval_timeout' })
  code: string;

  @ApiProperty({
    description:
      'What went wrong, and what to do. With ca_unavailable: which CA, and, when it is down, since when and when it is probed next.',
  })
  message: string;
}

export class RecordOptionSchema {
  @ApiProperty({ example: '_acme-challenge.example.com.' })
  name: string;

  @ApiProperty({ enum: ['CNAME', 'NS'] })
  type: string;

  @ApiProperty({ example: 'mfrggzdfmztwq2lknnwg23tpobyxe43u.approve.certwright.test.' })
  value: string;
}

export class ApprovalRecordSchema {
  @ApiProperty({
    type: [RecordOptionSchema],
    description: 'Any one of these standing records approves the name.',
  })
  options: RecordOptionSchema[];
}

export class ApprovalRuleSchema {
  @ApiProperty({ type: [String], example: ['/.well-known/acme-challenge/', '/.well-known/pki-validation/'] })
  path_prefixes: string[];

  @ApiProperty({
    format: 'uri',
    example: 'http://approve.example.net/mfrggzdfmztwq2lknnwg23tpobyxe43u',
    description:
      'Requests below the prefixes are redirected or proxied to this address followed by their own path. The same for every name of the account.',
  })
  redirect_to: string;
}

export class ApprovalEmailSchema {
  @ApiProperty({ format: 'email', example: 'hostmaster@example.com' })
  address: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'null: not asked yet.' })
  asked_at: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  approved_at: string | null;
}

export class NameIntegrationSchema {
  @ApiProperty({ format: 'int64', example: 172594820411904 })
  integration_id: number;

  @ApiProperty({
    enum: ['waiting', 'standing', 'failing'],
    description:
      '`standing`: every authoritative server of the zone answers with the record. `failing`: it is tried again by itself, or once the order is posted again; see `problem`.',
  })
  state: string;

  @ApiProperty({ type: String, nullable: true, description: 'What is waited for, or what went wrong.' })
  problem: string | null;
}

export class NameApprovalSchema {
  @ApiProperty({ example: 'example.com' })
  dns_name: string;

  @ApiProperty({
    enum: ['dns', 'http', 'email'],
    type: String,
    nullable: true,
    description: 'What approved the name.',
  })
  approval_method: string | null;

  @ApiProperty({ enum: ['pending', 'approved'] })
  status: string;

  @ApiProperty({ type: String, nullable: true, description: 'What the last check found.' })
  problem: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  checked_at: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When a pending name is looked at next; null: only a change of the order moves it.',
  })
  next_check_at: string | null;

  @ApiProperty({
    type: NameIntegrationSchema,
    nullable: true,
    description:
      'The DNS integration of the account that publishes the standing record; null when none covers the name.',
  })
  integration: NameIntegrationSchema | null;

  @ApiProperty()
  record: ApprovalRecordSchema;

  @ApiProperty({
    type: ApprovalRuleSchema,
    nullable: true,
    description: 'A rule of the web server approves the name; null for wildcards, which it cannot approve.',
  })
  rule: ApprovalRuleSchema | null;

  @ApiProperty({
    type: ApprovalEmailSchema,
    nullable: true,
    description: 'Null unless approver_emails names an address.',
  })
  email: ApprovalEmailSchema | null;
}

export class IssuanceSchema {
  @ApiProperty({ enum: phases })
  phase: string;

  @ApiProperty({ type: IssuanceErrorSchema, nullable: true })
  last_error: IssuanceErrorSchema | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description:
      'When the next attempt begins at the latest; an unchanged POST of the order begins one at once. null: only a change of the order moves it.',
  })
  next_attempt_at: string | null;

  @ApiProperty({ type: [NameApprovalSchema] })
  names: NameApprovalSchema[];
}
