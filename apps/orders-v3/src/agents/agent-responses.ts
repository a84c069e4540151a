import {
  type AgentTask,
  type CertificateMessage,
  type CsrResponse,
  type EnrolResponse,
  type KeysMessage,
  type MemberMessage,
  type MembersResponse,
  type OrderMessage,
  type StateResponse,
} from '@certwright/agent-contract';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { SealedKeySchema } from './agent-requests';

@ApiSchema({ name: 'AgentClusterSchema' })
export class AgentClusterSchema {
  @ApiProperty({ example: 'web' }) name: string;
  @ApiProperty({ type: String, nullable: true, description: 'Ed25519 public key; base64url.' })
  cluster_key: string | null;
}

@ApiSchema({ name: 'EnrolledSchema' })
export class EnrolledSchema implements EnrolResponse {
  @ApiProperty({ example: 'JPbtasv-EAnAMNfKVnwzyg' }) agent_id: string;
  @ApiProperty({ type: AgentClusterSchema }) cluster: AgentClusterSchema;
}

@ApiSchema({ name: 'AcceptedKeysSchema' })
export class AcceptedKeysSchema {
  @ApiProperty({ type: 'integer', isArray: true, example: [2048, 3072, 4096] }) rsa: readonly number[];
  @ApiProperty({ type: [String], example: ['P-256', 'P-384'] }) ecdsa: readonly string[];
}

@ApiSchema({ name: 'AgentCertificateSchema' })
export class AgentCertificateSchema {
  @ApiProperty() sha256: string;
  @ApiProperty() spki_sha256: string;
  @ApiProperty({ format: 'date-time' }) not_before: string;
  @ApiProperty({ format: 'date-time' }) not_after: string;
}

@ApiSchema({ name: 'AgentTaskSchema' })
export class AgentTaskSchema {
  @ApiProperty({ enum: ['make_key', 'seal_key_for'] }) type: AgentTask['type'];
  @ApiPropertyOptional({ description: 'Of make_key.' }) id?: string;
  @ApiPropertyOptional({ format: 'date-time', description: 'Of make_key.' }) until?: string;
  @ApiPropertyOptional({ description: 'Of seal_key_for: the key.' }) spki_sha256?: string;
  @ApiPropertyOptional({ type: [String], description: 'Of seal_key_for: who lacks it.' })
  members?: readonly string[];
}

@ApiSchema({ name: 'AgentOrderSchema' })
export class AgentOrderSchema implements Omit<OrderMessage, 'tasks'> {
  @ApiProperty({ example: 'www.example.com' }) name: string;
  @ApiProperty({ type: 'integer' }) version: number;
  @ApiProperty({ type: 'integer' }) revision: number;
  @ApiProperty({ type: [String] }) dns_names: readonly string[];
  @ApiProperty({ enum: ['rsa', 'ecdsa'] }) key_type: OrderMessage['key_type'];
  @ApiProperty({ type: AcceptedKeysSchema }) accepts: AcceptedKeysSchema;
  @ApiProperty() paused: boolean;
  @ApiProperty({ type: String, nullable: true, description: 'Key of the present CSR.' })
  csr_spki_sha256: string | null;
  @ApiProperty({ type: AgentCertificateSchema, nullable: true }) certificate: AgentCertificateSchema | null;
  @ApiProperty({ enum: ['go', 'hold'], description: '`hold`: another host goes first.' })
  install: OrderMessage['install'];
  @ApiProperty({ type: [AgentTaskSchema] }) tasks: readonly AgentTaskSchema[];
}

@ApiSchema({ name: 'AgentStateSchema' })
export class AgentStateSchema implements Omit<StateResponse, 'reset' | 'orders'> {
  @ApiProperty({ type: 'integer', description: '`after` of the next request.' }) version: number;
  @ApiProperty({ description: 'Request again at once.' }) more: boolean;
  @ApiPropertyOptional({ description: 'true: request again with after=0.' }) reset?: boolean;
  @ApiProperty({ type: AgentClusterSchema }) cluster: AgentClusterSchema;
  @ApiProperty({ type: 'integer' }) members_version: number;
  @ApiProperty({ type: [AgentOrderSchema] }) orders: readonly AgentOrderSchema[];
  @ApiProperty({ type: [String], description: 'Orders that left the cluster.' }) released: readonly string[];
}

@ApiSchema({ name: 'MemberSchema' })
export class MemberSchema implements MemberMessage {
  @ApiProperty() agent_id: string;
  @ApiProperty() name: string;
  @ApiProperty() identity_key: string;
  @ApiProperty() sealing_key: string;
  @ApiProperty({ type: String, nullable: true }) statement: string | null;
}

@ApiSchema({ name: 'MembersSchema' })
export class MembersSchema implements MembersResponse {
  @ApiProperty({ type: 'integer' }) version: number;
  @ApiProperty({ type: [MemberSchema] }) members: readonly MemberSchema[];
}

@ApiSchema({ name: 'AgentChainSchema' })
export class AgentChainSchema implements CertificateMessage {
  @ApiProperty({ format: 'byte' }) leaf: string;
  @ApiProperty({ type: [String], description: 'Base64 DER; the first certifies the leaf.' })
  chain: readonly string[];
  @ApiProperty({ format: 'byte' }) root: string;
}

@ApiSchema({ name: 'SealedKeysSchema' })
export class SealedKeysSchema implements KeysMessage {
  @ApiProperty({ type: [SealedKeySchema] }) keys: readonly SealedKeySchema[];
}

@ApiSchema({ name: 'CsrAcceptedSchema' })
export class CsrAcceptedSchema implements CsrResponse {
  @ApiProperty({ type: 'integer' }) revision: number;
}
