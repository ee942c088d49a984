// Run by MongoDB's image once, in an empty volume: the app's user, with rights on its own database only.
const database = process.env.ATHENA_DATABASE;

db.getSiblingDB(database).createUser({
  user: "athena",
  pwd: process.env.ATHENA_PASSWORD,
  roles: [{ role: "readWrite", db: database }],
});
