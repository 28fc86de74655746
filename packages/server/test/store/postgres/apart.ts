/** A connection that sends a statement for each row, as if the rows were on several machines. */
import { PostgresConnection } from '../../../src/store/postgres/statements/connection.ts'
import type { Ask, Batched } from '../../../src/store/postgres/statements/statement.ts'

export class Apart extends PostgresConnection {
  override prepareTogether<Row>(_: Batched, apart: Ask<Row>): Ask<Row> {
    return apart
  }
}
