import type { Look } from '@certwright/endpoint-checks';
import { Controller } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import { LookAtHosts } from './look-at-hosts';

@Controller()
export class LooksController {
  constructor(private readonly looks: LookAtHosts) {}

  @MessagePattern('look-at-hosts')
  async respond(@Payload() question: unknown): Promise<Look | undefined> {
    return await this.looks.respond(question);
  }
}
