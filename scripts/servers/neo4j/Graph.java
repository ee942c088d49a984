import java.nio.file.Path;
import java.util.Map;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/**
 * Neo4j's community edition without plugins, for tests: Graph PORT FOLDER, on loopback, until it is told to stop.
 * With NEO4J_PASSWORD the user neo4j gets in by that, and nobody else.
 */
public class Graph {
    public static void main(String[] arguments) throws InterruptedException {
        String password = System.getenv().getOrDefault("NEO4J_PASSWORD", "");
        SocketAddress address = new SocketAddress("127.0.0.1", Integer.parseInt(arguments[0]));
        DatabaseManagementServiceBuilder builder = new DatabaseManagementServiceBuilder(Path.of(arguments[1]))
            .setConfig(GraphDatabaseSettings.auth_enabled, !password.isEmpty());
        if (!password.isEmpty()) { // before anybody can ask
            DatabaseManagementService unheard = builder.build();
            unheard.database(GraphDatabaseSettings.SYSTEM_DATABASE_NAME).executeTransactionally(
                "ALTER USER neo4j SET PASSWORD $password CHANGE NOT REQUIRED", Map.of("password", password));
            unheard.shutdown();
        }
        DatabaseManagementService server = builder
            .setConfig(BoltConnector.enabled, true)
            .setConfig(BoltConnector.listen_address, address)
            .build();
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        Thread.currentThread().join();
    }
}
