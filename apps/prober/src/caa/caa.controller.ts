import type { CaaOfNameAnswer } from '@certwright/jobs';
import { Controller } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import { CaaOfName } from './caa-of-name';

@Controller()
export class CaaController {
  constructor(private readonly caa: CaaOfName) {}

  @MessagePattern('caa-of-name')
  async respond(@Payload() question: unknown): Promise<CaaOfNameAnswer | undefined> {
    return await this.caa.respond(question);
  }
}
