import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.List;

/** Looks up what tools on JDBC look up when they connect, and writes each as a line: what, then what was found. */
public class Look {
  public static void main(String[] given) throws Exception {
    try (Connection line = DriverManager.getConnection(given[0], given[1], given[2])) {
      DatabaseMetaData known = line.getMetaData();
      write("catalogs", known.getCatalogs(), "TABLE_CAT");
      write("schemas", known.getSchemas(), "TABLE_SCHEM");
      write("kinds", known.getTableTypes(), "TABLE_TYPE");
      write("tables", known.getTables(null, "public", "%", new String[] {"TABLE", "VIEW"}), "TABLE_NAME");
      write("columns", known.getColumns(null, "public", "pay", "%"), "COLUMN_NAME");
      write("types", known.getColumns(null, "public", "pay", "%"), "TYPE_NAME");
      write("comments", known.getColumns(null, "public", "pay", "wage"), "REMARKS");
      write("keys", known.getPrimaryKeys(null, "public", "pay"), "COLUMN_NAME");
      write("indexes", known.getIndexInfo(null, "public", "pay", true, false), "INDEX_NAME");
      write("imported", known.getImportedKeys(null, "public", "pay"), "PKTABLE_NAME");
      write("exported", known.getExportedKeys(null, "public", "pay"), "FKTABLE_NAME");
      write("privileges", known.getTablePrivileges(null, "public", "pay"), "PRIVILEGE");
      write("granted", known.getColumnPrivileges(null, "public", "pay", "%"), "PRIVILEGE");
      write("best", known.getBestRowIdentifier(null, "public", "pay", 0, true), "COLUMN_NAME");
      write("functions", known.getFunctions(null, "public", "%"), "FUNCTION_NAME");
      write("procedures", known.getProcedures(null, "public", "%"), "PROCEDURE_NAME");
      write("version", known.getDatabaseProductName());
      try (PreparedStatement asked = line.prepareStatement("SELECT team, count(*) AS n FROM pay WHERE age > ? GROUP BY team")) {
        asked.setInt(1, 40);
        write("described", asked.getMetaData().getColumnName(2), asked.getMetaData().getColumnTypeName(2));
        for (int time = 0; time < 7; time++) { // the driver prepares it by name after five times
          write("asked", asked.executeQuery(), "n");
        }
      }
      line.setAutoCommit(false);
      try (PreparedStatement few = line.prepareStatement("SELECT age, count(*) AS n FROM pay GROUP BY age")) {
        few.setFetchSize(7); // rows come in parts
        write("fetched", few.executeQuery(), "n");
      }
      line.commit();
    }
  }

  private static void write(String what, ResultSet found, String column) throws Exception {
    List<String> values = new ArrayList<>();
    while (found.next()) {
      values.add(found.getString(column));
    }
    write(what, values.toArray(new String[0]));
  }

  private static void write(String what, String... values) {
    System.out.println(what + "\t" + String.join("\t", values));
  }
}
