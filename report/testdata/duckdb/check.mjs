// Reads Parquet files with DuckDB and prints, for each, the columns with their
// types, the number of rows, extremes of n, whether n rises, the sum of the
// values and the key-value metadata, as lines that a test compares.
//
//   npm install @duckdb/node-api
//   node check.mjs FILE...
import { DuckDBInstance } from '@duckdb/node-api';

const db = await (await DuckDBInstance.create(':memory:')).connect();
const rows = async (sql) => (await db.runAndReadAll(sql)).getRows();

for (const file of process.argv.slice(2)) {
  const from = `read_parquet('${file}')`;
  for (const [name, type] of await rows(`describe select * from ${from}`)) console.log(`column ${name} ${type}`);
  const [[count, first, last, sum]] = await rows(`select count(*), min(n), max(n), sum(value::hugeint)::varchar from ${from}`);
  console.log(`rows ${count} n ${first} to ${last} sum ${sum}`);
  const [[falls]] = await rows(`select count(*) from (select n - lag(n) over (order by file_row_number) as d from read_parquet('${file}', file_row_number = true)) where d <= 0`);
  console.log(`falls ${falls}`);
  for (const [key, value] of await rows(`select decode(key), decode(value) from parquet_kv_metadata('${file}') order by 1`)) console.log(`${key} = ${value}`);
}
